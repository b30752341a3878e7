#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/node_id.h"

namespace veche {

// What a node of a model in stages tells all others when a view begins.
struct HeldStage {
  std::uint64_t member = 0;        // who it is, in every view
  std::array<char, 24> name = {};  // for people; what does not fit is left out
  std::int32_t stage = -1;         // of which it has the state; -1: of none
  std::uint32_t has_work = 0;      // and the gradient of a step that was not completed ..
  std::uint32_t has_samples = 0;   // .. which is of samples; see KeptWork for the rest of it
  std::uint32_t has_state = 0;
  std::uint64_t step = 0;  // steps done
  std::uint64_t unit = 0;  // the replica in which it was, equal on its nodes; 0: in none
  std::uint64_t samples = 0;
  double rate = 0, scale = 0;
  double made_scale = 0;  // NodeSelf's
  double squares = 0;     // squared norm of the gradient

  std::string called() const;
};

// Who has which stage of which replica until the next view: the same on all, as it follows from what all have
// told. The others wait.
struct Roles {
  int stages = 1;
  std::vector<NodeId> nodes;     // of the complete replicas: node r * stages + s has stage s of replica r
  std::vector<int> missing;      // stages whose state nobody has; then there are no replicas
  std::uint64_t first_step = 0;  // the largest that one of them has done; of all, where none is complete

  int replicas() const { return static_cast<int>(nodes.size()) / stages; }
  // Of a node of the view, among `nodes`; -1: it waits.
  int place_of(NodeId node) const;
};

// As many replicas as there are nodes for. Those that are still whole stay as they are; of what is left of
// the others, who has a stage keeps it where a replica needs it, the furthest first; who has none, or one
// that nobody needs, takes what is lacking. Before the first step everybody can make any stage.
Roles assign_roles(std::span<const HeldStage> held, int stages);

// One who had a role in the view before.
struct HadRole {
  std::uint64_t member = 0;
  std::string name;
  int replica = 0, stage = 0;
};

// What people should know of the change: which replicas have lost which stage with whom, who takes its place,
// and why nobody trains. Empty: nothing.
std::string told_of_roles(std::span<const HadRole> before, std::span<const HeldStage> held,
                          const Roles& roles);

}  // namespace veche
