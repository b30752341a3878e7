#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/chain_stage.h"
#include "veche/comm/cluster.h"
#include "veche/train/pipeline/pipeline.h"

namespace veche::testing {

inline PipelinePlan plan_of(int stages, int micro_batches, Schedule schedule,
                            std::vector<double> flops = {}) {
  PipelinePlan plan;
  plan.stages = stages;
  plan.micro_batches = micro_batches;
  plan.schedule = schedule;
  plan.flops_per_sample = std::move(flops);
  for (int s = 0; s < stages; ++s) plan.parts.push_back({s, s + 1, false});
  return plan;
}

inline constexpr float kWeight = 1.25F;

struct ChainProblem {
  explicit ChainProblem(std::size_t samples, Task of = Task::classification) : task(of) {
    for (std::size_t i = 0; i < samples; ++i) {
      x.push_back(task == Task::language ? static_cast<float>(i % 5) : 0.5F + static_cast<float>(i) / 8);
      labels.push_back(static_cast<std::int64_t>(i % 3));
      values.push_back(static_cast<float>(labels.back()));
      tokens.push_back(static_cast<std::int32_t>(i % 5));
      tokens.push_back(static_cast<std::int32_t>(labels.back()));
    }
  }
  Batch batch() const {
    Batch batch{.inputs = x, .labels = labels, .shape = {1, 1, 1}};
    if (task == Task::classification) return batch;
    batch.labels = {};
    if (task == Task::regression) batch.values = values;
    if (task == Task::language) {
      batch.inputs = {};
      batch.tokens = tokens;
    }
    return batch;
  }
  // The gradient of each weight of a model with this many stages.
  double gradient(int stages) const {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double y = x[i] * std::pow(kWeight, stages);
      sum += (y - static_cast<double>(labels[i])) * y / kWeight;
    }
    return sum / static_cast<double>(x.size());
  }
  Task task;
  std::vector<float> x, values;
  std::vector<std::int64_t> labels;
  std::vector<std::int32_t> tokens;
};

struct Told {
  std::vector<float> gradients;
  std::vector<std::size_t> held;
  double end = 0;
  Score score;
};

// One step of one replica.
inline Told run_step(Cluster& cluster, const PipelinePlan& plan, const ChainProblem& problem, int steps = 1) {
  const auto count = static_cast<std::size_t>(plan.stages);
  Told told{std::vector<float>(count), std::vector<std::size_t>(count), 0, {}};
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int s = 0; s < plan.stages; ++s) endpoints.push_back(cluster.endpoint(NodeId{s}));
  std::vector<double> ends(count);
  PipelinePlan of_task = plan;
  of_task.task = problem.task;
  of_task.input = problem.batch().shape;
  cluster.run([&](NodeId id) {
    const auto s = static_cast<std::size_t>(id.value);
    MessagePool pool;
    AdaptiveTimeout timeout{Time(20)};
    ChainStage stage({kWeight}, s == 0, s + 1 == count);
    Pipeline pipeline(*endpoints[s], pool, timeout, stage, of_task, nullptr);
    for (int step = 0; step < steps; ++step) {
      const Score score = pipeline.train(s == 0 ? problem.batch() : Batch{}, static_cast<std::uint64_t>(step),
                                         problem.x.size(), {});
      if (s == 0) told.score = score;
    }
    told.gradients[s] = stage.gradients()[0];
    told.held[s] = stage.most_bytes_held();
    ends[s] = endpoints[s]->now().count();
    EXPECT_EQ(pipeline.sum(static_cast<double>(s)), static_cast<double>(count * (count - 1)) / 2);
    endpoints[s]->flush();
  });
  told.end = *std::max_element(ends.begin(), ends.end());
  return told;
}

}  // namespace veche::testing
