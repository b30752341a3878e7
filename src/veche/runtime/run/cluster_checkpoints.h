#pragma once

#include <string>

#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/run/cluster_nodes.h"
#include "veche/runtime/run/session.h"

namespace veche {

// The checkpoints of a run with a fixed number of nodes, in the folder of its session. All methods
// are collective over the ranks of the job. Session and plan outlive it.
class ClusterCheckpoints {
 public:
  ClusterCheckpoints(TrainingSession& session, const RunPlan& plan);

  // Resumes the nodes from the newest whole checkpoint. Returns the step they continue from; 0: the
  // folder has no checkpoint. Throws RequestError where all checkpoints are damaged.
  std::uint64_t resume(const ClusterNodes& nodes);
  // From now on the nodes write checkpoints that carry the run's id.
  Checkpointer& start();

 private:
  void tell_changes(std::uint64_t checkpoint, const ClusterNodes& nodes) const;

  TrainingSession& session_;
  const RunPlan& plan_;
  CheckpointStore store_;
};

}  // namespace veche
