#include "veche/runtime/record/spread.h"

#include <algorithm>
#include <cmath>

namespace veche {

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {};
  const auto [min, max] = std::ranges::minmax(values);
  Spread spread{.min = min, .max = max, .count = values.size()};
  const auto count = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / count;
  for (const double value : values) spread.std += std::pow(value - spread.mean, 2) / count;
  spread.std = std::sqrt(spread.std);
  return spread;
}

}  // namespace veche
