#include "veche/comm/grid/round_timeout.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace veche::grid {
namespace {

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void RoundTimeout::measured(Time took, std::uint64_t bytes) {
  rounds_.push_back({took, bytes});
  if (rounds_.size() > kRemembered) rounds_.pop_front();
}

Time RoundTimeout::deadline(std::uint64_t bytes) const {
  if (rounds_.size() < kEnough) return std::max(first_, least_);
  std::vector<double> times;
  for (const Round& round : rounds_) {
    const double more = round.bytes == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(round.bytes);
    times.push_back(round.took.count() * std::max(1.0, more));
  }
  const double median = median_of(times);
  std::ranges::nth_element(times, times.end() - 2);
  const double twice = times[times.size() - 2];  // a larger one happened only once: an outlier
  std::vector<double> off;
  for (const double time : times) off.push_back(std::abs(time - median));
  constexpr double kDeviations = 1.4826;  // standard deviation per median deviation of a normal distribution
  const double spread = kDeviations * median_of(off);
  return std::max(least_, Time(std::max({4 * median, median + 12 * spread, 1.25 * twice})));
}

}  // namespace veche::grid
