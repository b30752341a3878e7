#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/run/learner_factory.h"
#include "veche/runtime/run/request.h"
#include "veche/runtime/run/session.h"
#include "veche/train/node/node.h"

namespace veche {

// The nodes of this process in a cluster of fixed size. Request and plan outlive it.
class ClusterNodes {
 public:
  // Collective over the ranks of the job: makes the nodes and their learners. Throws RequestError.
  ClusterNodes(const TrainingRequest& request, const RunPlan& plan, std::unique_ptr<Cluster> cluster);

  const std::vector<std::unique_ptr<Node>>& all() const { return nodes_; }  // a rank may have none
  std::size_t parameters() const;                                           // of each; 0 without nodes

  // Collective: trains until the run ends. Returns the last evaluation. Frees the nodes and leaves
  // their parameters, by node of the whole run, in `parameters`. `checkpointer` may be null.
  Evaluation train(TrainingSession& session, Checkpointer* checkpointer,
                   std::vector<std::vector<float>>& parameters);
  // Collective, after `train`: the parameters of other ranks' nodes, unless they are large, and the
  // reason why the run stopped for ranks without a node.
  void gather(RunResult& result) const;
  // Collective, after `train`: writes what the nodes did when.
  void write_trace(TrainingSession& session) const;

 private:
  bool fills_memory(std::size_t bytes_of_each) const;
  std::size_t count_loaders() const;
  NodeServices services_for(TrainingSession& session, Prefetcher& prefetcher);
  void take_trace(const Node& node);

  const TrainingRequest& request_;
  const RunPlan& plan_;
  const std::unique_ptr<Cluster> cluster_;
  LearnerFactory learners_;
  bool low_memory_ = false;                   // idle nodes free what they can
  const MessagePool pool_;                    // shared, since few nodes need theirs at the same time
  std::vector<std::unique_ptr<Node>> nodes_;  // of this process
  std::string trace_;                         // of the nodes of this process, after they have trained
};

}  // namespace veche
