#pragma once

#include <cstdint>
#include <vector>

#include "veche/train/strategies/local_sgd/options.h"

namespace veche {

// After which steps local SGD averages.
class AveragingTimes {
 public:
  // Throws RequestError for a period that is none.
  AveragingTimes(const LocalSgdOptions& options, std::uint64_t steps_per_epoch);

  // Whether models are averaged after this step.
  bool after(std::uint64_t step) const;
  // Steps since the last average, up to and with this one.
  std::uint64_t steps_up_to(std::uint64_t step) const;

 private:
  // Steps from which on models are averaged every `period` steps.
  struct Phase {
    std::uint64_t from = 0;
    std::uint64_t period = 0;  // 0: no averages in this phase
  };
  const Phase* phase_at(std::uint64_t step) const;
  void add(const Value& item, double steps_per_epoch);

  std::vector<Phase> phases_;
};

}  // namespace veche
