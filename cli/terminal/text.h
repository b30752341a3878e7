#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veche::cli {

std::string with_commas(std::uint64_t number);  // 1,475,338
// As veche/base/text/figures.h, in signs that every terminal has.
std::string three(double value);              // 0.487, 61,600
std::string duration(double seconds);         // 38.7 s, 2 min 01 s or 1 h 04 min
std::string seconds(double value);            // 38.7 s or 3,870 s, in tables
std::string bytes(double count);              // 1.50 MB
std::string epochs(double done, double all);  // 0.22/0.25, 1.50/10, 0.0012/0.003

// A table with columns as wide as needed; the first is left-aligned, numbers right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace veche::cli
