#pragma once

#include <string>
#include <vector>

namespace veche::web {

// Characters that mean something in HTML, as themselves; signs that no document may hold are left out.
std::string html(const std::string& text);

// Rows of words for every kind of reader. The first row is the head; columns after the first are numbers,
// unless told otherwise.
class Sheet {
 public:
  explicit Sheet(std::vector<std::string> head, std::size_t left_columns = 1)
      : left_(left_columns), rows_{std::move(head)} {}
  // As many cells as the head.
  void row(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size() - 1; }

  std::string to_html(const std::string& caption) const;
  std::string to_markdown() const;
  std::string to_latex(const std::string& caption) const;  // of booktabs
  std::string to_csv() const;                              // RFC 4180

 private:
  const std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace veche::web
