#pragma once

#include "veche/graph/weights/mixing.h"

namespace veche {

struct TopologyRequest {
  std::string graph = "ring";          // a spec; the number of nodes may be left out
  std::string weights = "metropolis";  // a rule
  std::optional<int> nodes;            // what the cluster has
  std::uint64_t seed = 1;              // of random graphs whose spec has no @SEED
  bool directed_allowed = false;  // the strategy copes with weights that do not keep the average (push-sum)
};

// What the files of a topology say besides their graphs.
struct FileWords {
  std::vector<std::string> labels = {};   // one a node, "" where there is none; empty: only numbers
  std::vector<std::string> notices = {};  // what was mended, one sentence a file: parallel edges merged ...
};
const FileWords& words_of(const Topology& topology);

// The graph and weights of a request, also when they never converge or, with `rate` 1, do not even connect
// the nodes. Throws RequestError for everything else that make_topology refuses.
std::shared_ptr<const Topology> build_topology(const TopologyRequest& request);

// Throws RequestError in one sentence: unknown spec or rule (with the nearest), wrong number of nodes, a
// graph that is not connected (which components), weights that never converge (why, and a rule that works).
std::shared_ptr<const Topology> make_topology(const TopologyRequest& request);

}  // namespace veche
