#include "veche/data/text/characters.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "veche/base/text/utf8.h"
#include "veche/errors.h"

namespace veche {
namespace {

// Of a valid character of `length` bytes.
char32_t code_of(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 1) return first;
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  return code;
}

std::string utf8_of(char32_t code) {
  const auto part = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), part(code)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), part(code >> 6), part(code)};
  return {static_cast<char>(0xf0 | code >> 18), part(code >> 12), part(code >> 6), part(code)};
}

class Characters final : public Tokenizer {
 public:
  explicit Characters(std::string_view symbols) : content_(symbols) {
    ascii_.fill(-1);
    while (!symbols.empty()) {
      const std::size_t length = utf8_length(symbols);
      if (length == 0) throw RequestError("the symbols of the vocabulary are not UTF-8");
      const auto id = static_cast<std::int32_t>(symbols_.size());
      const char32_t code = code_of(symbols, length);
      symbols_.emplace_back(symbols.substr(0, length));
      if (!ids_.emplace(code, id).second)
        throw RequestError(fmt::format("the vocabulary has {} twice", show_character(symbols_.back())));
      if (code < ascii_.size()) ascii_[code] = id;
      symbols.remove_prefix(length);
    }
  }

  int size() const override { return static_cast<int>(symbols_.size()); }
  TokenizerKind kind() const override { return TokenizerKind::characters; }
  std::string content() const override { return content_; }

  std::optional<std::size_t> encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (std::size_t at = 0; at < text.size();) {
      const auto byte = static_cast<unsigned char>(text[at]);
      std::size_t length = 1;
      std::int32_t id = -1;
      if (byte < ascii_.size()) {
        id = ascii_[byte];
      } else if ((length = utf8_length(text.substr(at))) > 0) {
        const auto found = ids_.find(code_of(text.substr(at), length));
        if (found != ids_.end()) id = found->second;
      }
      if (id < 0) return at;
      ids.push_back(id);
      at += length;
    }
    return {};
  }

  std::string decode(std::int32_t id) const override { return symbols_.at(static_cast<std::size_t>(id)); }

 private:
  const std::string content_;
  std::vector<std::string> symbols_;
  std::unordered_map<char32_t, std::int32_t> ids_;
  std::array<std::int32_t, 128> ascii_{};  // most characters of most texts, without hashing
};

}  // namespace

std::shared_ptr<const Tokenizer> make_characters(std::string_view symbols) {
  return std::make_shared<Characters>(symbols);
}

void CharacterSet::add(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 128) {
      if (!ascii_[byte]) codes_.insert(byte);
      ascii_[byte] = true;
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) throw RequestError("the text is not UTF-8");
    codes_.insert(code_of(text.substr(at), length));
    at += length;
  }
}

std::string CharacterSet::symbols() const {
  std::string text;
  for (const char32_t code : codes_) text += utf8_of(code);
  return text;
}

std::string show_character(std::string_view character) {
  const std::size_t length = character.empty() ? 0 : utf8_length(character);
  if (length == 0) return "a byte that is not UTF-8";
  if (character[0] == '\n') return "a line feed";
  const char32_t code = code_of(character, length);
  if (code < ' ' || code == 0x7f || (code >= 0x80 && code < 0xa0))
    return fmt::format("U+{:04X}", static_cast<std::uint32_t>(code));
  return fmt::format("'{}'", character.substr(0, length));
}

}  // namespace veche
