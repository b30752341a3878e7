#include "bench/rounds.h"

#include <algorithm>
#include <cmath>

namespace veche {
namespace {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

}  // namespace

BenchCase Rounds::result(std::size_t peer, std::string name, std::string unit, std::string peer_name,
                         double required) const {
  const std::vector<double>& theirs = theirs_.at(peer);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours_.size(); ++i) ratios.push_back(ours_[i] / theirs.at(i));
  BenchCase result;
  result.name = std::move(name);
  result.unit = std::move(unit);
  result.peer = std::move(peer_name);
  result.value = quantile(ours_, 0.5);
  result.peer_value = quantile(theirs, 0.5);
  result.ratio = quantile(ratios, 0.5);
  result.spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / result.ratio;
  result.rounds = static_cast<int>(ours_.size());
  result.required = required;
  return result;
}

}  // namespace veche
