#include "veche/data/feed/shuffle.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {

double read_shuffle(std::string_view rule) {
  if (rule == "local") return 0;
  if (rule == "global") return 1;
  constexpr std::string_view kPartial = "partial:";
  const std::vector<std::string> names{"local", "global", "partial:0.1"};
  if (!rule.starts_with(kPartial))
    throw RequestError(fmt::format("data.shuffle = \"{}\" does not exist{}", rule, suggestion(rule, names)));
  double part = -1;
  const char* end = rule.data() + rule.size();
  const auto [stop, error] = std::from_chars(rule.data() + kPartial.size(), end, part);
  if (error != std::errc() || stop != end || !(part >= 0 && part <= 1))
    throw RequestError(fmt::format(
        "data.shuffle = \"{}\" needs a number from 0 to 1, such as partial:0.1: the part of its samples that "
        "a node exchanges",
        rule));
  return part;
}

Partition division(const Partition& home, double exchanged, std::uint64_t seed, std::uint64_t epoch) {
  Partition result = home;
  std::vector<std::vector<std::size_t>> places(home.size());  // positions of the exchanged samples
  std::vector<std::uint32_t> lent;
  for (std::size_t node = 0; node < home.size(); ++node) {
    const auto count =
        static_cast<std::size_t>(std::llround(exchanged * static_cast<double>(home[node].size())));
    places[node].resize(home[node].size());
    std::iota(places[node].begin(), places[node].end(), std::size_t{0});
    RandomStream(seed, "lend", node, epoch).shuffle(std::span(places[node]));
    places[node].resize(count);
    std::ranges::sort(places[node]);
    for (const std::size_t place : places[node]) lent.push_back(home[node][place]);
  }
  std::ranges::sort(lent);  // makes the result independent of the previous owners
  RandomStream(seed, "division", epoch).shuffle(std::span(lent));
  auto next = lent.begin();
  for (std::size_t node = 0; node < home.size(); ++node)
    for (const std::size_t place : places[node]) result[node][place] = *next++;
  return result;
}

}  // namespace veche
