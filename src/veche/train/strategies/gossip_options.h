#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "veche/errors.h"
#include "veche/train/strategies/common_keys.h"

namespace veche {

// The [strategy] section of gossip, of both forms.
struct GossipOptions {
  explicit GossipOptions(const Options& options)
      : every(every_in(options)),
        pairs(options.get<std::int64_t>("pairs")),
        disjoint(options.get<std::string>("draw") == "matching"),
        async(options.get<bool>("async")),
        patience(options.get<double>("patience")),
        outer(options.get<std::string>("outer") != "none"),
        outer_rate(static_cast<float>(options.get<double>("outer_lr"))),
        outer_momentum(static_cast<float>(options.get<double>("outer_momentum"))),
        outer_pull(static_cast<float>(options.get<double>("outer_pull"))) {}
  // Throws RequestError for keys that contradict each other.
  void check() const {
    if (async && outer) throw RequestError("strategy.async and strategy.outer are both given; keep one");
  }
  std::int64_t pairs_among(int nodes) const {
    return pairs != 0 ? pairs : std::max<std::int64_t>(1, nodes / 2);
  }

  const std::uint64_t every;
  const std::int64_t pairs;  // edges at a time; 0: half the nodes
  const bool disjoint;
  const bool async;
  const double patience;  // seconds
  const bool outer;       // NoLoCo
  const float outer_rate, outer_momentum, outer_pull;
};

}  // namespace veche
