#pragma once

#include <span>
#include <string>
#include <vector>

namespace veche {

// In which order the stages of a cut model pass micro-batches forward and backward. Backward passes go in the
// order of the micro-batches in all of them, so that sums of gradients are the same to the bit.
enum class Schedule {
  naive,       // one micro-batch at a time, forth and back
  gpipe,       // all forward, then all backward
  one_f_one_b  // backward as soon as possible: a stage holds no more micro-batches than there are stages
               // behind
};
Schedule read_schedule(const std::string& word);  // of pipeline.schedule, which was checked
std::vector<std::string> schedule_words();

struct StagePass {
  bool forward = true;
  int micro_batch = 0;
  bool operator==(const StagePass&) const = default;
};

// What one stage does in a step.
std::vector<StagePass> passes_of_stage(Schedule schedule, int stages, int stage, int micro_batches);

// The most micro-batches that have gone forward and not yet back.
int most_held(std::span<const StagePass> passes);

// How long a step takes when passes take these times at each stage and messages none: every stage makes its
// passes in their order, each as soon as what it needs is there.
double makespan(Schedule schedule, std::span<const double> forward, std::span<const double> backward,
                int micro_batches);

// The part of that time in which stages wait, on the average.
double bubble(Schedule schedule, std::span<const double> forward, std::span<const double> backward,
              int micro_batches);

// How many of so many samples are in a micro-batch: as equal as can be, the first ones larger.
std::size_t samples_in(std::size_t samples, int micro_batches, int micro_batch);
std::size_t first_sample_of(std::size_t samples, int micro_batches, int micro_batch);

}  // namespace veche
