#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/export.h"
#include "veche/topology.h"

namespace veche {

// The keys of the [topology] section, and the other settings that a topology needs.
struct TopologyRequest {
  std::string graph = "ring";          // a spec; the number of nodes may be omitted
  std::string weights = "metropolis";  // a rule
  std::optional<int> nodes = {};       // size of the cluster
  std::uint64_t seed = 1;              // for random graphs without @SEED
  bool directed_allowed = false;  // the strategy corrects weights that do not preserve the average (push-sum)
};

// The graph and weights of a request, even if they never converge or (with `rate` 1) do not connect
// the nodes. Throws RequestError for everything else that make_topology refuses.
VECHE_API std::shared_ptr<const Topology> build_topology(const TopologyRequest& request);

// Throws RequestError with one sentence: unknown spec or rule (with the nearest one), wrong number
// of nodes, a disconnected graph (with its components), weights that never converge (with the
// reason and a rule that works).
VECHE_API std::shared_ptr<const Topology> make_topology(const TopologyRequest& request);

// What the files of a topology contain besides their graphs.
struct FileNotes {
  std::vector<std::string> labels = {};   // one per node, "" for unnamed ones; empty: only numbers
  std::vector<std::string> notices = {};  // repairs, one sentence per file: parallel edges merged ...
};
VECHE_API const FileNotes& notes_of(const Topology& topology);

// The drawing of `veche topology --svg`, of the topology that was built from `request`. Throws
// RequestError above 2,000 nodes.
VECHE_API std::string topology_svg(const Topology& topology, const TopologyRequest& request);

}  // namespace veche
