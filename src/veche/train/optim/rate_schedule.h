#pragma once

#include <cstdint>
#include <string>
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
  // Reads lr, schedule, milestones, gamma, warmup_epochs and scale_lr.
  RateSchedule(const OptimizerSettings& settings, const Plan& plan);

  double rate(std::uint64_t step) const;

 private:
  enum class Shape { constant, multi_step, cosine, one_cycle };
  Shape shape_;
  double peak_;
  double warmup_steps_;
  double ahead_;
  double total_steps_;
  double gamma_;
  std::vector<double> milestones_;  // in steps
};

std::vector<std::string> schedule_names();

}  // namespace veche
