#include "veche/data/table/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "veche/base/text/nearest.h"
#include "veche/data/table/cell.h"
#include "veche/errors.h"

namespace veche {

// Reads the text from left to right.
class ConditionReader {
 public:
  ConditionReader(const std::string& text, const std::vector<std::string>& columns, RowCondition& result)
      : text_(text), columns_(columns), result_(result) {}

  void read() {
    for (bool begins_or = false;;) {
      read_comparison(begins_or);
      const std::string word = next();
      if (word.empty()) return;
      if (word != "and" && word != "or") refuse(fmt::format("'{}' stands where 'and' or 'or' may", word));
      begins_or = word == "or";
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError(
        fmt::format("data.test = \"{}\" makes no sense: {}; write it as \"ID % 5 == 0\"", text_, why));
  }

  // The next word, number or sign; empty: the end. quote_ is its quotation mark, or 0.
  std::string next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    quote_ = 0;
    if (at_ == text_.size()) return {};
    const char first = text_[at_];
    if (first == '\'' || first == '"') {
      const std::size_t end = text_.find(first, at_ + 1);
      if (end == text_.npos) refuse("a quotation mark is not closed");
      quote_ = first;
      std::string inside = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return inside;
    }
    constexpr std::string_view kSigns = "=!<>%";
    std::size_t end = at_;
    if (kSigns.find(first) != kSigns.npos)
      while (end < text_.size() && end < at_ + 2 && kSigns.find(text_[end]) != kSigns.npos) ++end;
    else
      while (end < text_.size() && std::isspace(static_cast<unsigned char>(text_[end])) == 0 &&
             kSigns.find(text_[end]) == kSigns.npos)
        ++end;
    std::string word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  std::size_t read_column() {
    const std::string name = next();
    if (name.empty() && quote_ == 0) refuse("a comparison is missing at its end");
    const auto found = std::ranges::find(columns_, name);
    if (found == columns_.end())
      refuse(fmt::format("there is no column '{}'{}", name, suggestion(name, columns_)));
    const auto column = static_cast<std::size_t>(found - columns_.begin());
    const auto known = std::ranges::find(result_.needs_, column);
    if (known != result_.needs_.end()) return static_cast<std::size_t>(known - result_.needs_.begin());
    result_.needs_.push_back(column);
    return result_.needs_.size() - 1;
  }

  void read_comparison(bool begins_or) {
    RowCondition::Comparison one;
    one.begins_or = begins_or;
    one.cell = read_column();
    std::string sign = next();
    if (sign == "%") {
      const std::string divisor = next();
      one.modulus = read_number(divisor).value_or(0);
      if (one.modulus < 1 || one.modulus != std::floor(one.modulus))
        refuse(fmt::format("'{}' stands where a whole number above 0 must", divisor));
      sign = next();
    }
    constexpr const char* kWords[] = {"==", "!=", "<", "<=", ">", ">="};
    if (sign == "=") sign = "==";
    const auto* const known = std::ranges::find(kWords, sign);
    if (known == std::end(kWords)) refuse(fmt::format("'{}' stands where ==, !=, <, <=, > or >= must", sign));
    one.sign = static_cast<RowCondition::Sign>(known - std::begin(kWords));
    read_value(one);
    result_.comparisons_.push_back(std::move(one));
  }

  void read_value(RowCondition::Comparison& one) {
    one.text = next();
    one.is_text = quote_ != 0;
    const bool ordered = one.sign != RowCondition::Sign::equal && one.sign != RowCondition::Sign::unequal;
    if (const auto date = read_date(one.text)) {
      one.is_text = false;
      one.is_date = true;
      one.number = *date;
    }
    if (one.is_text && (ordered || one.modulus > 0))
      refuse(fmt::format("the text '{}' can only be compared with == and !=", one.text));
    if (one.is_text || one.is_date) return;
    const auto number = read_number(one.text);
    if (!number)
      refuse(fmt::format("'{}' is neither a number nor a date, and a text is in quotation marks: '{}'",
                         one.text, one.text));
    one.number = *number;
  }

  const std::string& text_;
  const std::vector<std::string>& columns_;
  RowCondition& result_;
  std::size_t at_ = 0;
  char quote_ = 0;
};

namespace {

template <class T>
bool holds(int sign, const T& a, const T& b) {
  switch (sign) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a < b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    default:
      return a >= b;
  }
}

}  // namespace

RowCondition::RowCondition(const std::string& text, const std::vector<std::string>& columns) {
  ConditionReader(text, columns, *this).read();
}

RowCondition::Verdict RowCondition::check(std::span<const std::string> cells, std::size_t& culprit) const {
  bool all = true;
  for (const Comparison& one : comparisons_) {
    if (one.begins_or) {
      if (all) return Verdict::yes;
      all = true;
    }
    const std::string& cell = cells[one.cell];
    const int sign = static_cast<int>(one.sign);
    if (is_missing(cell)) {
      all = false;
    } else if (one.is_text) {
      all = all && holds(sign, cell, one.text);
    } else {
      auto number = one.is_date ? read_date(cell) : read_number(cell);
      if (!number) {
        culprit = one.cell;
        return Verdict::not_comparable;
      }
      if (one.modulus > 0) number = *number - one.modulus * std::floor(*number / one.modulus);
      all = all && holds(sign, *number, one.number);
    }
  }
  return all ? Verdict::yes : Verdict::no;
}

}  // namespace veche
