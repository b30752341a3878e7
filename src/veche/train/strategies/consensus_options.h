#pragma once

#include <cstdint>
#include <string>

#include "veche/train/strategies/common_keys.h"

namespace veche {

// The [strategy] section of consensus, of both forms.
struct ConsensusOptions {
  static constexpr const char* kAdaptFirst = "adapt-then-combine";
  static constexpr const char* kCombineFirst = "combine-then-adapt";
  static constexpr const char* kTracking = "gradient-tracking";
  static constexpr const char* kD2 = "d2";

  explicit ConsensusOptions(const Options& options)
      : every(every_in(options)),
        rounds(static_cast<std::uint64_t>(options.get<std::int64_t>("rounds"))),
        max_age(static_cast<std::uint64_t>(options.get<std::int64_t>("max_age"))),
        correction(options.get<std::string>("correction")),
        combine_first(options.get<std::string>("order") == kCombineFirst),
        mix_buffers(options.get<bool>("mix_buffers")),
        mix_moments(options.get<std::string>("momentum") == "tracked"),
        async(options.get<bool>("async")) {}
  bool has_correction() const { return correction != "none"; }

  const std::uint64_t every, rounds;
  const std::uint64_t max_age;  // steps; 0: any age
  const std::string correction;
  const bool combine_first, mix_buffers, mix_moments;
  const bool async;
};

}  // namespace veche
