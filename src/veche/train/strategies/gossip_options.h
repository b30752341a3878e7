#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "veche/train/strategies/common_keys.h"

namespace veche {

// The [strategy] section of gossip, of both forms.
struct GossipOptions {
  explicit GossipOptions(const Options& options)
      : every(every_in(options)),
        pairs(options.get<std::int64_t>("pairs")),
        disjoint(options.get<std::string>("draw") == "matching"),
        async(options.get<bool>("async")),
        patience(options.get<double>("patience")) {}
  std::int64_t pairs_among(int nodes) const {
    return pairs != 0 ? pairs : std::max<std::int64_t>(1, nodes / 2);
  }

  const std::uint64_t every;
  const std::int64_t pairs;  // edges at a time; 0: half the nodes
  const bool disjoint;
  const bool async;
  const double patience;  // seconds
};

}  // namespace veche
