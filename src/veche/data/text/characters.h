#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "veche/data/text/tokenizer.h"

namespace veche {

// The tokenizer "characters": a symbol for every Unicode character that the text has, in the order
// of their numbers.

// `symbols`: each character once, in UTF-8. Throws RequestError if it is not that.
std::shared_ptr<const Tokenizer> make_characters(std::string_view symbols);

// The characters of texts.
class CharacterSet {
 public:
  // The text is UTF-8.
  void add(std::string_view text);
  std::size_t size() const { return codes_.size(); }
  std::string symbols() const;  // ascending, in UTF-8

 private:
  bool ascii_[128] = {};
  std::set<char32_t> codes_;
};

// "'x'", "'\n'" or "U+0007" for people.
std::string show_character(std::string_view character);

}  // namespace veche
