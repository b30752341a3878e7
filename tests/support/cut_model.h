#pragma once

#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "veche/model/zoo.h"
#include "veche/train/pipeline/cut.h"
#include "veche/train/pipeline/schedule.h"

namespace veche::testing {

// A network in stages of as many blocks each, driven by hand in one thread.
struct CutModel {
  CutModel(const ModelSpec& spec, int stages, bool recompute = false) {
    Learners learners;
    const int blocks = static_cast<int>(describe_blocks(spec).size());
    const Cut cut = best_cut(std::vector<double>(static_cast<std::size_t>(blocks), 1),
                             std::vector<double>(static_cast<std::size_t>(stages), 1));
    for (int s = 0; s < stages; ++s) {
      const BlockRange range = blocks_of_stage(cut, blocks, s);
      all.push_back(learners.make_stage(spec, {range.from, range.to, recompute}));
    }
  }

  // Every stage makes its passes in the order of the schedule, whenever it can.
  Score step(const Batch& batch, Schedule schedule, int micro_batches) {
    const std::size_t stages = all.size();
    std::vector<std::deque<Message>> forth(stages), back(stages);
    std::vector<std::vector<StagePass>> passes;
    for (std::size_t s = 0; s < stages; ++s)
      passes.push_back(
          passes_of_stage(schedule, static_cast<int>(stages), static_cast<int>(s), micro_batches));
    std::vector<std::size_t> next(stages);
    const auto part_at = [&](int index) -> MicroBatch {
      return {.step = batch.step,
              .index = index,
              .count = micro_batches,
              .whole = batch.size(),
              .weight = std::accumulate(batch.weights.begin(), batch.weights.end(), 0.0)};
    };
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < stages; ++s) {
        if (next[s] == passes[s].size()) continue;
        const StagePass pass = passes[s][next[s]];
        const MicroBatch part = part_at(pass.micro_batch);
        if (pass.forward) {
          if (s > 0 && forth[s].empty()) continue;
          const std::size_t from = first_sample_in(batch.size(), micro_batches, pass.micro_batch);
          const std::size_t count = samples_in(batch.size(), micro_batches, pass.micro_batch);
          StageInput input;
          input.batch = batch.part(from, count);
          if (s > 0) {
            input.activation = forth[s].front();
            forth[s].pop_front();
          }
          Message out = all[s]->forward(part, input, pool);
          if (s + 1 < stages) forth[s + 1].push_back(std::move(out));
        } else {
          if (s + 1 < stages && back[s].empty()) continue;
          Message gradient;
          if (s + 1 < stages) {
            gradient = back[s].front();
            back[s].pop_front();
          }
          Message out = all[s]->backward(part, gradient, pool);
          if (s > 0) back[s - 1].push_back(std::move(out));
        }
        ++next[s];
        moved = true;
      }
    }
    return all.back()->take_score();
  }

  Score test(const Batch& batch) {
    Score score;
    StageInput input{.batch = batch};
    for (const auto& stage : all) input.activation = stage->test(input, pool, score, {});
    return score;
  }

  std::vector<float> joined(std::span<float> (Learner::*part)()) const {
    std::vector<float> whole;
    for (const auto& stage : all) {
      const std::span<float> piece = (stage.get()->*part)();
      whole.insert(whole.end(), piece.begin(), piece.end());
    }
    return whole;
  }

  std::vector<std::unique_ptr<Stage>> all;
  MessagePool pool;
};

}  // namespace veche::testing
