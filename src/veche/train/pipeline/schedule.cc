#include "veche/train/pipeline/schedule.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace veche {

std::vector<StagePass> passes_of_stage(Schedule schedule, int stages, int stage, int micro_batches) {
  // How many micro-batches go forward before the first comes back.
  int ahead = 1;
  if (schedule == Schedule::gpipe) ahead = micro_batches;
  if (schedule == Schedule::one_f_one_b) ahead = std::min(micro_batches, stages - stage);
  std::vector<StagePass> passes;
  for (int i = 0; i < ahead; ++i) passes.push_back({true, i});
  for (int i = 0; i < micro_batches; ++i) {
    passes.push_back({false, i});
    if (i + ahead < micro_batches) passes.push_back({true, i + ahead});
  }
  return passes;
}

int most_held(std::span<const StagePass> passes) {
  int held = 0, most = 0;
  for (const StagePass& pass : passes) {
    held += pass.forward ? 1 : -1;
    most = std::max(most, held);
  }
  return most;
}

double makespan(Schedule schedule, std::span<const double> forward, std::span<const double> backward,
                int micro_batches) {
  const auto stages = forward.size(), count = static_cast<std::size_t>(micro_batches);
  constexpr double kNotYet = -1;
  std::vector<std::vector<StagePass>> passes;
  for (std::size_t s = 0; s < stages; ++s)
    passes.push_back(passes_of_stage(schedule, static_cast<int>(stages), static_cast<int>(s), micro_batches));
  std::vector<std::size_t> next(stages);
  std::vector<double> free(stages);
  std::vector<std::vector<double>> forth(stages, std::vector(count, kNotYet)), back = forth;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages; ++s)
      for (; next[s] < passes[s].size(); ++next[s], moved = true) {
        const StagePass pass = passes[s][next[s]];
        const auto i = static_cast<std::size_t>(pass.micro_batch);
        double ready = 0;
        if (pass.forward && s > 0) ready = forth[s - 1][i];
        if (!pass.forward) ready = s + 1 < stages ? back[s + 1][i] : forth[s][i];
        if (ready == kNotYet) break;
        free[s] = std::max(free[s], ready) + (pass.forward ? forward[s] : backward[s]);
        (pass.forward ? forth : back)[s][i] = free[s];
      }
  }
  for (std::size_t s = 0; s < stages; ++s)
    if (next[s] != passes[s].size()) throw std::logic_error("stages of a schedule wait for each other");
  return *std::ranges::max_element(free);
}

double bubble(Schedule schedule, std::span<const double> forward, std::span<const double> backward,
              int micro_batches) {
  const double all = makespan(schedule, forward, backward, micro_batches);
  const double busy = micro_batches * (std::reduce(forward.begin(), forward.end()) +
                                       std::reduce(backward.begin(), backward.end()));
  return all == 0 ? 0 : 1 - busy / (all * static_cast<double>(forward.size()));
}

std::size_t first_sample_in(std::size_t samples, int micro_batches, int micro_batch) {
  const auto count = static_cast<std::size_t>(micro_batches), i = static_cast<std::size_t>(micro_batch);
  return samples / count * i + std::min(samples % count, i);
}

std::size_t samples_in(std::size_t samples, int micro_batches, int micro_batch) {
  return first_sample_in(samples, micro_batches, micro_batch + 1) -
         first_sample_in(samples, micro_batches, micro_batch);
}

}  // namespace veche
