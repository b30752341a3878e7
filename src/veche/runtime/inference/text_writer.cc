#include "veche/runtime/inference/text_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/text/utf8.h"
#include "veche/data/text/characters.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Whether more bytes can make a character of these, which are none.
bool may_become_character(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes.size() >= length) return false;
  return std::ranges::all_of(bytes.substr(1),
                             [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; });
}

// Takes the whole characters from the front; bytes that can begin none become U+FFFD.
std::string take_whole(std::string& bytes) {
  std::string text;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view left = std::string_view(bytes).substr(at);
    const std::size_t length = utf8_length(left);
    if (length > 0) {
      text += left.substr(0, length);
      at += length;
    } else if (may_become_character(left)) {
      break;
    } else {
      text += kReplacement;
      ++at;
    }
  }
  bytes.erase(0, at);
  return text;
}

}  // namespace

TextWriter::TextWriter(std::unique_ptr<Generation> generation, std::shared_ptr<const Tokenizer> tokenizer,
                       std::string_view prompt, const Sampling& how)
    : generation_(std::move(generation)), tokenizer_(std::move(tokenizer)), sampler_(how) {
  if (prompt.empty()) throw RequestError("the prompt is empty: give the beginning of a text");
  for (std::string_view left = prompt; !left.empty();) {
    const std::size_t length = utf8_length(left);
    if (length == 0) throw RequestError("the prompt is not UTF-8");
    left.remove_prefix(length);
  }
  if (const auto unknown = tokenizer_->encode(prompt, feed_))
    throw RequestError(
        fmt::format("the prompt has {}, which is none of the {} symbols of the run's vocabulary",
                    show_character(prompt.substr(*unknown)), tokenizer_->size()));
  if (feed_.empty()) throw RequestError("the prompt has no tokens: give the beginning of a text");
}

TextWriter::TextWriter(std::unique_ptr<Generation> generation, std::shared_ptr<const Tokenizer> tokenizer,
                       std::vector<std::int32_t> tokens, const Sampling& how)
    : generation_(std::move(generation)),
      tokenizer_(std::move(tokenizer)),
      sampler_(how),
      feed_(std::move(tokens)) {}

std::string TextWriter::next() {
  const std::int32_t token = sampler_.draw(generation_->feed(feed_));
  feed_ = {token};
  ++tokens_;
  bytes_ += tokenizer_->decode(token);
  return take_whole(bytes_);
}

std::string TextWriter::rest() {
  if (bytes_.empty()) return {};
  bytes_.clear();
  return kReplacement;
}

}  // namespace veche
