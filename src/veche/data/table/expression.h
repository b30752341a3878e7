#pragma once

#include <span>
#include <string>
#include <vector>

namespace veche {

// A condition on the cells of a row, the key data.test: comparisons of a column with a number, a
// date or a 'text', joined by `and` and `or`, where `and` binds first. A column may be followed by
// `% N`. Names with spaces are in double quotes: "PAY AMT" > 3.
class RowCondition {
 public:
  // Throws RequestError that names what makes no sense; `columns` are those of the table.
  RowCondition(const std::string& text, const std::vector<std::string>& columns);

  // The columns that it needs, as indices of `columns`.
  const std::vector<std::size_t>& needs() const { return needs_; }

  enum class Verdict { no, yes, not_comparable };
  // `cells` are those of needs(). A missing cell fulfils no comparison. not_comparable: a cell is
  // compared with a number and is none; `culprit` becomes its index in needs().
  Verdict check(std::span<const std::string> cells, std::size_t& culprit) const;

 private:
  enum class Sign { equal, unequal, less, at_most, more, at_least };
  struct Comparison {
    std::size_t cell = 0;  // of needs_
    double modulus = 0;    // 0: none
    Sign sign = Sign::equal;
    bool is_text = false, is_date = false;
    std::string text;
    double number = 0;
    bool begins_or = false;  // the first of the comparisons after an `or`
  };
  friend class ConditionReader;

  std::vector<std::size_t> needs_;
  std::vector<Comparison> comparisons_;
};

}  // namespace veche
