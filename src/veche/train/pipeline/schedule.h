#pragma once

#include <span>
#include <vector>

#include "veche/settings.h"

namespace veche {

using Schedule = PipelineSchedule;

struct StagePass {
  bool forward = true;
  int micro_batch = 0;
  bool operator==(const StagePass&) const = default;
};

// The passes of one stage in a step.
std::vector<StagePass> passes_of_stage(Schedule schedule, int stages, int stage, int micro_batches);

// The largest number of micro-batches that have gone forward and not yet backward.
int most_held(std::span<const StagePass> passes);

// The time of a step if passes take these times at each stage and messages take none. Every stage
// makes its passes in order, each as soon as its input is there.
double makespan(Schedule schedule, std::span<const double> forward, std::span<const double> backward,
                int micro_batches);

// The mean part of that time in which stages wait.
double bubble(Schedule schedule, std::span<const double> forward, std::span<const double> backward,
              int micro_batches);

// The number of samples in a micro-batch, and its first sample. Sizes differ by at most one, the
// first micro-batches being larger.
std::size_t samples_in(std::size_t samples, int micro_batches, int micro_batch);
std::size_t first_sample_in(std::size_t samples, int micro_batches, int micro_batch);

}  // namespace veche
