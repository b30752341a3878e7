#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veche::cli {

std::string with_commas(std::uint64_t number);  // 1,475,338
std::string duration(double seconds);           // 1:05 or 2:03:10
std::string bytes(double count);                // 1.5 MB
std::string epochs(double done, double all);    // 0.22/0.25, 1.50/10, 0.0012/0.003

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
