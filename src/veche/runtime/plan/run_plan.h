#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "veche/config.h"
#include "veche/data/division/node_folders.h"
#include "veche/data/sets/source.h"
#include "veche/runtime/plan/simulation_plan.h"
#include "veche/train/loop/plan.h"

namespace veche {

// The nodes of a view, where members come and go, and whose samples are whose.
struct NodesInView {
  int first_here = 0, here = 1;
  // By node, where each member has data of its own; empty: all have the same set, which is divided.
  std::vector<std::size_t> samples = {};
  bool test = true;  // all have samples to test with
  // The passes over the data made up to this step, in earlier views, where an epoch had another
  // number of steps.
  std::uint64_t epochs_at = 0;
  double epochs_before = 0;
};

// Everything that follows from the settings before the first node is made: data opened and divided,
// the graph built, the steps counted. Making it checks the request and throws RequestError.
struct RunPlan {
  // `how`: data are opened; `one_machine`: all processes of the job are on this host.
  explicit RunPlan(const Settings& settings, const OpenOptions& how = {}, bool one_machine = true);
  // Of a view, as many nodes as the settings say, with the data that are open already.
  RunPlan(const Settings& settings, NodeFolders opened, const NodesInView& view);

  // One learner may stand for all nodes.
  int learners() const { return training.strategy.one_learner ? 1 : settings.nodes(); }

  // How many nodes have the same model: all, or those of a stage.
  int replicas() const { return learners() / stages(); }
  int stages() const { return training.pipeline ? training.pipeline->stages : 1; }
  // Applies a cut that was made elsewhere, with the same number of stages.
  void cut_at(Cut cut);
  // At most this many steps, the first ones of the run, and neither evaluations nor tests.
  void limit_to_trial(std::uint64_t steps);

  Settings settings;
  const NodeFolders folders;                           // whose samples are whose already
  const DataSource source;                             // empty when the learners bring their own
  const std::optional<SimulationPlan> simulation;      // in virtual time
  const std::shared_ptr<std::vector<float>> stand_in;  // of all learners, where they do not learn
  TrainingPlan training;                               // what the nodes know
};

// What a run whose members come and go cannot do: throws RequestError.
void check_for_views(const Settings& settings);
// The data of this process. `scheme`: of its table, if the run has one already; null: the members
// agree on one later.
NodeFolders open_data_for_views(const Settings& settings, std::shared_ptr<const TableScheme> scheme);

}  // namespace veche
