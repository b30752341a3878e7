#include "veche/train/strategies/local_sgd/options.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "veche/errors.h"

namespace veche {
namespace {

bool is_adaptive(const std::string& outer) { return outer == "adam" || outer == "yogi"; }

}  // namespace

LocalSgdOptions::LocalSgdOptions(const Options& options)
    : period(options.at("period")),
      warm(options.get<double>("warm")),
      outer(options.get<std::string>("outer")),
      outer_rate(options.get<double>("outer_lr", is_adaptive(outer) ? 0.01 : 0.7)),
      outer_momentum(options.get<double>("outer_momentum")),
      outer_beta2(options.get<double>("outer_beta2")),
      outer_epsilon(options.get<double>("outer_epsilon")),
      weighted(options.get<bool>("weighted")),
      proximal(options.get<double>("proximal")),
      scaffold(options.get<std::string>("correction") == "scaffold"),
      fragments(options.get<std::int64_t>("fragments")),
      delay(static_cast<std::uint64_t>(options.get<std::int64_t>("delay"))),
      blend(options.get<double>("blend")),
      elastic(options.get<double>("elastic")),
      centre_rate(static_cast<float>(options.get<double>("centre_rate"))),
      async(options.get<std::string>("update") == "async") {
  check();
}

std::uint64_t LocalSgdOptions::steps_of_period(const std::string& key) const {
  const auto* steps = std::get_if<std::int64_t>(&period.data);
  if (steps == nullptr || *steps < 1)
    throw RequestError("strategy.period must be a number of steps where " + key);
  return static_cast<std::uint64_t>(*steps);
}

void LocalSgdOptions::check() const {
  const std::string streaming = fragments > 1 ? "strategy.fragments"
                                : delay > 0   ? "strategy.delay"
                                              : "strategy.blend";
  const auto together = [](const std::string& one, const std::string& other) {
    throw RequestError(fmt::format("{} and {} are both given; keep one", one, other));
  };
  if (elastic > 0) {
    if (has_outer() || at_end())
      throw RequestError(
          "strategy.elastic has a centre of its own: leave out strategy.outer and period = \"end\"");
    if (streams()) together("strategy.elastic", streaming);
    if (proximal > 0) together("strategy.elastic", "strategy.proximal");
    if (scaffold) together("strategy.elastic", "strategy.correction");
  }
  if (streams()) {
    if (async) together("strategy.update = \"async\"", streaming);
    if (scaffold) together("strategy.correction", streaming);
    if (proximal > 0) together("strategy.proximal", streaming);
    if (warm > 0) together("strategy.warm", streaming);
    const std::uint64_t steps = steps_of_period(streaming + " is given");
    const auto parts = static_cast<std::uint64_t>(fragments);
    if (parts > steps)
      throw RequestError(fmt::format(
          "strategy.fragments = {} are more than the {} steps of strategy.period: choose at most {}", parts,
          steps, steps));
    if (delay >= steps / parts)
      throw RequestError(fmt::format(
          "strategy.delay = {} must be below the {} steps between two fragments (strategy.period over "
          "strategy.fragments): choose at most {}",
          delay, steps / parts, steps / parts - 1));
  }
  if (pulls() && at_end())
    together(proximal > 0 ? "strategy.proximal" : "strategy.correction", "strategy.period = \"end\"");
  if (!async) return;
  if (is_adaptive(outer))
    throw RequestError(
        fmt::format("strategy.outer = \"{}\" needs the mean of all nodes: choose \"nesterov\", or "
                    "strategy.update = \"sync\"",
                    outer));
  if (proximal > 0) together("strategy.update = \"async\"", "strategy.proximal");
  if (scaffold) together("strategy.update = \"async\"", "strategy.correction");
}

}  // namespace veche
