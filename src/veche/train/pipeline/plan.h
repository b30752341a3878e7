#pragma once

#include <cstddef>
#include <vector>

#include "veche/learner.h"
#include "veche/model/stage.h"
#include "veche/node_id.h"
#include "veche/train/pipeline/cut.h"
#include "veche/train/pipeline/schedule.h"

namespace veche {

// A model cut into stages, the same on every node. Node r * stages + s has stage s of replica r. A
// strategy runs between the nodes of one stage, which it numbers by replica.
struct PipelinePlan {
  int stages = 1;
  int micro_batches = 1;
  Task task = Task::classification;  // what the model learns,
  Shape input = {};                  // and the shape of a sample
  Schedule schedule = Schedule::one_f_one_b;
  Cut cut = {};
  std::vector<StageSpec> parts = {};          // by stage
  std::vector<double> flops_per_sample = {};  // of a forward pass by stage, in virtual time
  std::vector<TensorLayout> parameters = {};  // of the whole model
  std::vector<TensorLayout> buffers = {};
  std::vector<BlockDescription> blocks = {};

  int stage_of(NodeId node) const { return node.value % stages; }
  int replica_of(NodeId node) const { return node.value / stages; }
  NodeId node(int replica, int stage) const { return NodeId{replica * stages + stage}; }
  int replicas(int nodes) const { return nodes / stages; }

  // The offset of a stage's vectors in those of the whole model.
  std::size_t first_parameter(int stage) const;
  std::size_t first_buffer(int stage) const;
  std::size_t parameter_count() const { return first_parameter(stages); }
};

}  // namespace veche
