// The round numbers of an axis and their texts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/text/figures.h"
#include "web/report/chart.h"

namespace veche::web {

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low) || count < 1) return ticks;
  const double rough = (high - low) / count;
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / magnitude;
  const double step = magnitude * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high, int count) {
  if (!(low > 0) || !(high > low) || count < 1) return {};
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  const double decades = std::log10(high / low);
  // Less than half a decade has too few of them.
  if (decades < 0.5) return round_ticks(low, high, count);
  const double every = std::max(1.0, std::ceil(decades / count));
  std::vector<double> ticks;
  for (double exponent = first; exponent <= last; exponent += every)
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit != 1 && 3 * decades > count + 1.5) continue;
      const double tick = digit * std::pow(10, exponent);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  return ticks;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks, bool logarithmic) {
  // How many decimals a number has, up to six.
  const auto decimals_of = [](double value) {
    int decimals = 0;
    for (double scale = 1;
         decimals < 6 && std::abs(value * scale - std::round(value * scale)) > 1e-6 * std::abs(value * scale);
         scale *= 10)
      ++decimals;
    return decimals;
  };
  const double distance = ticks.size() > 1 ? ticks[1] - ticks[0] : 0;
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    const double smallest = logarithmic || ticks.size() < 2 ? std::abs(tick) : distance;
    const bool powers = tick != 0 && (smallest < 1e-5 || std::abs(tick) >= 1e7);
    labels.push_back(powers ? fmt::format("{:g}", tick) : figures::fixed(tick, decimals_of(smallest)));
  }
  return labels;
}

}  // namespace veche::web
