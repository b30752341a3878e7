#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/data/division/partition.h"
#include "veche/data/feed/augment.h"
#include "veche/data/feed/loader.h"
#include "veche/dataset.h"
#include "veche/learner.h"
#include "veche/settings.h"
#include "veche/strategy_info.h"
#include "veche/train/compression/compression.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/measure/target.h"
#include "veche/train/optim/pruning.h"
#include "veche/train/optim/rate_schedule.h"
#include "veche/train/pipeline/plan.h"

namespace veche {

// The nodes' samples. Without a data set the learners bring their own.
struct DataPlan {
  std::shared_ptr<const Dataset> train, test;
  Partition partition = {};  // which node holds which samples
  double exchanged = 0;      // the part of the samples that nodes exchange before each epoch
  std::size_t batch = 1;     // samples per node and step, unless they share a global batch
  std::size_t pass = 1;      // most samples per pass of the model: larger batches take several
  Augmentation augment = {};
  std::vector<float> class_weights = {};  // in the training loss; empty: all classes weigh 1
};

// What is the same on every node of a run.
struct TrainingPlan {
  std::uint64_t steps = 0;             // of each node; if nodes share steps, the mean
  double steps_per_epoch = 0;          // 0 without a data set
  bool shared_steps = false;           // fast nodes make more steps than slow ones
  std::uint64_t evaluate_every = 0;    // steps; 0: only at the end
  std::uint64_t checkpoint_every = 0;  // steps; 0: only at the end
  std::optional<Target> target;        // of the averaged model
  std::uint64_t seed = 1;
  TestedModels tested = {};      // during the run
  double flops_per_sample = 0;   // of a pass, in virtual time
  bool learns = true;            // false: no gradients are computed, and models are not measured
  double clip = 0;               // largest norm of the gradient; 0: any
  std::vector<double> slowness;  // by node: its passes are stretched by this factor
  double stall_probability = 0;  // that a node pauses after a pass
  double stall_seconds = 0;      // the longest pause
  int threads = 1;               // per node's pass
  PruningPlan pruning = {};
  std::optional<PipelinePlan> pipeline = {};  // none: every node has the whole model
  bool trace = false;                         // nodes record what they do when
  // A text that a learner's model writes, for people; empty: it is no language model.
  std::function<std::string(Learner& learner)> write_sample = {};

  StrategyInfo strategy;
  Options strategy_options;
  OptimizerSettings optimizer_options;
  std::optional<Compression> compression;    // none: floats are sent as they are
  std::shared_ptr<const Topology> topology;  // none when the strategy uses none
  std::vector<std::uint64_t> mix_every;      // by node; empty: the strategy's own
  SamplePlan samples;                        // which node trains at which step
  RateSchedule schedule;                     // of the learning rate
  DataPlan data;

  Pace pace() const { return strategy.pace(strategy_options); }
  bool async() const { return pace() != Pace::in_step; }
  // The number of first nodes that only serve. Their models are not trained and do not count in
  // averages.
  std::size_t idle() const { return static_cast<std::size_t>(strategy.idle_nodes(strategy_options)); }
  Replicas replicas() const { return strategy.replicas(strategy_options); }
  bool common_state() const { return !async() && strategy.common_state(strategy_options); }
  bool own_data() const { return data.train == nullptr; }
  // The result of a test before its first sample: it has the task.
  TestResult untested() const;
  // Whether one learner trains on the batches of all nodes at every step, except those whose
  // results are lost.
  bool joins_batches() const { return strategy.one_learner && !own_data(); }
  // The samples that a learner trains on, its node's or all nodes'; and how they are loaded from a
  // step on.
  std::vector<Loader::Shard> shards_of(std::size_t learner) const;
  Loader::Plan loading_of(std::size_t learner, std::uint64_t step) const;
  // Whether a node's own model is tested during the run, and at the end, where all models are
  // tested unless there are very many. A sample of nodes is the same draw on every node.
  bool tests_model_of(std::size_t node, std::size_t nodes, std::uint64_t step) const;
  bool tests_model_at_end_of(std::size_t node, std::size_t nodes) const;
};

}  // namespace veche
