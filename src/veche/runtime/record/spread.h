#pragma once

#include <cstddef>
#include <span>

namespace veche {

// Mean, population standard deviation and range of some values.
struct Spread {
  double mean = 0, std = 0, min = 0, max = 0;
  std::size_t count = 0;
};

// All zeros where there is no value.
Spread spread_of(std::span<const double> values);

}  // namespace veche
