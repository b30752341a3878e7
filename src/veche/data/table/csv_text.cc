#include "veche/data/table/csv_text.h"

#include <algorithm>
#include <cstring>

namespace veche {
namespace {

// Follows libcsv: a quotation mark opens a cell at its beginning only, and a mark inside is
// literal unless a separator or a line's end follows, perhaps after spaces.
class RowScanner {
 public:
  explicit RowScanner(char separator) : separator_(separator) {}

  // Whether a line ends with this character, outside of quotation marks.
  bool ends_line(char c) {
    const bool end = c == '\n' || c == '\r', space = (c == ' ' || c == '\t') && c != separator_;
    switch (at_) {
      case At::start_of_cell:
        if (space) return false;
        at_ = c == '"' ? At::quoted : c == separator_ ? At::start_of_cell : At::plain;
        break;
      case At::plain:
        if (c == separator_) at_ = At::start_of_cell;
        break;
      case At::quoted:
        if (c == '"') at_ = At::after_quote;
        spaced_ = false;
        return false;
      case At::after_quote:
        if (space) {
          spaced_ = true;
        } else if (c == separator_) {
          at_ = At::start_of_cell;
        } else if (c == '"' && spaced_) {
          spaced_ = false;
        } else if (!end) {
          at_ = At::quoted;
        }
        break;
    }
    in_row_ = !end || at_ == At::quoted;
    if (end) at_ = At::start_of_cell;
    return end;
  }
  // Whether the row of the last character has begun: spaces and empty lines are no rows.
  bool in_row() const { return in_row_; }

 private:
  enum class At { start_of_cell, plain, quoted, after_quote };
  const char separator_;
  At at_ = At::start_of_cell;
  bool spaced_ = false;  // since the mark
  bool in_row_ = false;
};

}  // namespace

std::size_t length_of_rows(std::string_view text, char separator) {
  if (text.find('"') == text.npos) {
    const std::size_t last = text.rfind('\n');
    return last == text.npos ? 0 : last + 1;
  }
  RowScanner scanner(separator);
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (scanner.ends_line(text[i]) && text[i] == '\n') length = i + 1;
  return length;
}

std::vector<std::uint64_t> lines_of_rows(std::string_view text, char separator) {
  RowScanner scanner(separator);
  std::vector<std::uint64_t> lines_before;
  std::uint64_t lines = 0;
  for (const char c : text) {
    const bool was_in_row = scanner.in_row();
    scanner.ends_line(c);
    if (scanner.in_row() && !was_in_row) lines_before.push_back(lines);
    lines += c == '\n' ? 1 : 0;
  }
  return lines_before;
}

}  // namespace veche
