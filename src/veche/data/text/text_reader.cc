#include "veche/data/text/text_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/text/utf8.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextBlock = 1 << 20;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

bool is_hidden_text(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Of the text's start, what can be a block: up to the last line's end, or else to the last whole
// character.
std::size_t length_of_block(const std::string& text) {
  const std::size_t line = text.rfind('\n');
  if (line != text.npos) return line + 1;
  std::size_t end = text.size();
  constexpr std::size_t kLongestCharacter = 4;
  const std::size_t least = end - std::min(end, kLongestCharacter);
  while (end > least && continues_character(text[end - 1])) --end;
  if (end > least) --end;  // the first byte of a character that may go on in the next block
  return end > least ? end : text.size();
}

}  // namespace

std::vector<fs::path> find_texts(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw RequestError(fmt::format("data.path: there is no '{}'", path.string()));
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (is_hidden_text(at->path())) {
      at.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (at->is_regular_file(ignored)) found.push_back(at->path());
  }
  if (error)
    throw RequestError(fmt::format("data.path: '{}' cannot be read: {}", path.string(), error.message()));
  if (found.empty()) throw RequestError(fmt::format("data.path: '{}' holds no files", path.string()));
  std::ranges::sort(found);
  return found;
}

TextReader::TextReader(const fs::path& file, bool utf8, DamagePolicy policy)
    : path_(file), utf8_(utf8), policy_(std::move(policy)), file_(file) {}

bool TextReader::next(std::string& block) {
  at_ = end_;
  if (!ended_) {
    const std::size_t before = ahead_.size();
    ahead_.resize(before + kTextBlock);
    const std::size_t read =
        file_.read({reinterpret_cast<std::uint8_t*>(ahead_.data()) + before, kTextBlock});
    ahead_.resize(before + read);
    ended_ = read < kTextBlock;
  }
  if (ahead_.empty()) {
    block_.clear();
    return false;
  }
  const std::size_t length = ended_ ? ahead_.size() : length_of_block(ahead_);
  block_ = ahead_.substr(0, length);
  ahead_.erase(0, length);
  block = block_;
  end_ = place(length);
  if (utf8_) check(block);
  return true;
}

TextPlace TextReader::place(std::size_t offset) const {
  const std::string_view before = std::string_view(block_).substr(0, offset);
  return {at_.byte + before.size(), at_.line + static_cast<std::uint64_t>(std::ranges::count(before, '\n'))};
}

void TextReader::check(std::string& block) {
  std::string whole;
  bool damaged = false;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t length =
        static_cast<unsigned char>(block[at]) < 0x80 ? 1 : utf8_length(std::string_view(block).substr(at));
    if (length == 0) {
      const TextPlace where = place(at);
      policy_.found(fmt::format("'{}' is not UTF-8 at byte {} (line {}): it has the byte 0x{:02x} there",
                                path_.string(), where.byte, where.line,
                                static_cast<unsigned char>(block[at])));
      if (!damaged) whole = block.substr(0, at);
      damaged = true;
      ++damaged_;
      ++at;
      continue;
    }
    if (damaged) whole.append(block, at, length);
    at += length;
  }
  if (!damaged) return;
  block = whole;
  block_ = std::move(whole);  // places in this block count without the bytes left out
}

std::uint64_t count_characters(std::string_view text) {
  return text.size() - static_cast<std::uint64_t>(std::ranges::count_if(text, continues_character));
}

std::size_t offset_of_character(std::string_view text, std::uint64_t character) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (!continues_character(text[at]) && character-- == 0) return at;
  return text.size();
}

}  // namespace veche
