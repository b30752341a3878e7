#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/node_id.h"

namespace veche {

// What a node tells all others when a view begins, if the model is in stages.
struct HeldStage {
  std::uint64_t member = 0;        // identifies it in every view
  std::array<char, 24> name = {};  // for messages to people, cut to fit
  std::int32_t stage = -1;         // the stage whose state it has; -1: none
  std::uint32_t has_work = 0;      // it has the gradient of a step that was not completed ..
  std::uint32_t has_samples = 0;   // .. computed from samples; the fields below are as in KeptWork
  std::uint32_t has_state = 0;
  std::uint64_t step = 0;  // steps done
  std::uint64_t unit = 0;  // identifies the replica in which it was; 0: none
  std::uint64_t samples = 0;
  double rate = 0, scale = 0;
  double made_scale = 0;  // as in RecoveryState
  double squares = 0;     // squared norm of the gradient

  std::string called() const;
};

// Which node has which stage of which replica until the next view; the other nodes wait. All nodes
// compute the same roles from what all have told.
struct Roles {
  int stages = 1;
  std::vector<NodeId> nodes;     // of complete replicas: item r * stages + s has stage s of replica r
  std::vector<int> missing;      // stages whose state no node has; if any, there are no replicas
  std::uint64_t first_step = 0;  // the largest step of these nodes; of all nodes if no replica is complete

  int replicas() const { return static_cast<int>(nodes.size()) / stages; }
  // The place of a node of the view in `nodes`; -1: it waits.
  int place_of(NodeId node) const;
};

// Makes as many replicas as there are nodes for. Replicas that are still whole stay as they are.
// The other nodes keep their stage if a replica needs it, those with the most steps first. Nodes
// without a stage, or with one that is not needed, take the missing stages. Before the first step
// any node can take any stage.
Roles assign_roles(std::span<const HeldStage> held, int stages);

// A member that had a role in the last view.
struct PreviousRole {
  std::uint64_t member = 0;
  std::string name;
  int replica = 0, stage = 0;
};

// A message for people about the change: which replicas lost which stage with which member, which
// member takes its place, and why no node trains. Empty: nothing to tell.
std::string told_of_roles(std::span<const PreviousRole> before, std::span<const HeldStage> held,
                          const Roles& roles);

}  // namespace veche
