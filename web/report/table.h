#pragma once

#include <string>
#include <vector>

namespace veche::web {

// Escapes HTML; drops characters that are not allowed in a document.
std::string html(const std::string& text);

// A table for all output formats. The first row is the header. Columns after the first are numbers
// unless set otherwise.
class Sheet {
 public:
  explicit Sheet(std::vector<std::string> head, std::size_t left_columns = 1)
      : left_(left_columns), rows_{std::move(head)} {}
  // As many cells as the header.
  void row(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size() - 1; }

  std::string to_html(const std::string& caption) const;
  std::string to_markdown() const;
  std::string to_latex(const std::string& caption) const;  // with booktabs
  std::string to_csv() const;                              // RFC 4180

 private:
  const std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace veche::web
