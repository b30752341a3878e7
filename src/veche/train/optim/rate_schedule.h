#pragma once

#include <cstdint>
#include <vector>

#include "veche/settings.h"

namespace veche {

// The learning rate as a function of the step alone, the same on every node.
class RateSchedule {
 public:
  struct Plan {
    std::uint64_t total_steps = 1;
    double steps_per_epoch = 1;
    int nodes = 1;
    std::int64_t ahead =
        0;  // steps that count as made before the first; if negative, first steps that do not count
  };
  // Reads lr, lr_end, schedule, milestones, gamma, warmup_epochs, warmup_steps and scale_lr.
  RateSchedule(const OptimizerSettings& settings, const Plan& plan);

  double rate(std::uint64_t step) const;

 private:
  RateShape shape_;
  double peak_, end_;
  double warmup_steps_;
  double ahead_;
  double total_steps_;
  double gamma_;
  std::vector<double> milestones_;  // in steps
};

}  // namespace veche
