#include "veche/base/text/nesting.h"

#include <string>

#include "veche/errors.h"

namespace veche {
namespace {

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  void json() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"')
        skip_string("\"", true);
      else
        look();
    }
  }

  // A dotted key nests as many tables as it has parts.
  void toml() {
    int parts = 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        const std::string_view three = c == '"' ? "\"\"\"" : "'''";
        const bool several_lines = text_.substr(at_, 3) == three;
        skip_string(several_lines ? three : three.substr(0, 1), c == '"');
        continue;
      }
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      look();
      if (c == '.' && ++parts > kMostNesting) refuse("a key has more than " + most() + " parts");
      if (std::string_view("\n=,[]{}#").find(c) != std::string_view::npos) parts = 1;
    }
  }

 private:
  void look() {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c == ']' || c == '}') --depth_;
    if ((c == '[' || c == '{') && ++depth_ > kMostNesting)
      refuse("brackets are nested more than " + most() + " deep");
  }

  // Skips from the opening quote to the closing one.
  void skip_string(std::string_view quote, bool escapes) {
    for (at_ += quote.size(); at_ < text_.size(); ++at_) {
      if (escapes && text_[at_] == '\\') {
        ++at_;
      } else if (text_.substr(at_, quote.size()) == quote) {
        at_ += quote.size() - 1;
        // """a"""" ends with a quote of its own.
        while (quote.size() == 3 && at_ + 1 < text_.size() && text_[at_ + 1] == quote[0]) ++at_;
        return;
      } else if (text_[at_] == '\n') {
        ++line_;
        if (quote.size() == 1) return;  // unterminated: the parser reports it
      }
    }
  }

  static std::string most() { return std::to_string(kMostNesting); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError("line " + std::to_string(line_) + ": " + why);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
};

}  // namespace

void check_json_nesting(std::string_view text) { Scan(text).json(); }
void check_toml_nesting(std::string_view text) { Scan(text).toml(); }

}  // namespace veche
