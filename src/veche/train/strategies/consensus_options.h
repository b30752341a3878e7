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

  enum class Correction { none, tracking, d2 };
  static Correction correction_of(const std::string& word) {
    return word == kTracking ? Correction::tracking : word == kD2 ? Correction::d2 : Correction::none;
  }

  explicit ConsensusOptions(const Options& options)
      : every(every_in(options)),
        rounds(static_cast<std::uint64_t>(options.get<std::int64_t>("rounds"))),
        max_age(static_cast<std::uint64_t>(options.get<std::int64_t>("max_age"))),
        correction(correction_of(options.get<std::string>("correction"))),
        combine_first(options.get<std::string>("order") == kCombineFirst),
        mix_buffers(options.get<bool>("mix_buffers")),
        mix_moments(options.get<std::string>("momentum") == "tracked"),
        async(options.get<bool>("async")) {}
  bool has_correction() const { return correction != Correction::none; }

  std::uint64_t every, rounds;
  std::uint64_t max_age;  // steps; 0: any age
  Correction correction;
  bool combine_first, mix_buffers, mix_moments;
  bool async;
};

}  // namespace veche
