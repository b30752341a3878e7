#pragma once

#include <string>
#include <vector>

#include "web/report/words.h"

namespace veche::web {

// Escapes HTML; drops characters that are not allowed in a document.
std::string html(const std::string& text);

// A table for all output formats. The first row is the header. Columns after the first are numbers
// unless set otherwise.
class Sheet {
 public:
  explicit Sheet(std::vector<Words> head, std::size_t left_columns = 1)
      : left_(left_columns), head_(std::move(head)), aside_(head_.size()) {}
  // As many cells as the header.
  void row(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size(); }
  // A phone has no room for this column.
  void set_aside(std::size_t column) { aside_.at(column) = true; }

  std::string to_html(const Words& caption) const;
  std::string to_markdown() const;
  std::string to_latex(const std::string& caption) const;  // with booktabs
  std::string to_csv() const;                              // RFC 4180

 private:
  // The English header, and the rows.
  std::vector<std::vector<std::string>> all() const;

  const std::size_t left_;
  const std::vector<Words> head_;
  std::vector<bool> aside_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace veche::web
