#pragma once

#include <chrono>
#include <memory>

#include "veche/comm/cluster.h"

namespace veche {

struct SeededOptions {
  std::uint64_t seed = 1;     // decides the order of nodes, and the times of passes and messages
  Time pass{0.001};           // typical time of a `compute`; some nodes are ten times slower
  Time longest_delay{0.002};  // of a message in transit
  // When no node can go on before a deadline this far away, the run is stuck.
  Time stuck_after{60};
  Time longest{600};                               // a longer run is taken for endless
  std::chrono::duration<double> real_silence{30};  // without a call to the engine; see below
};

// An engine for tests. Nodes and helpers are threads of this process, but only one runs at a time,
// and at every call of its endpoint the seed may choose another to run next. Time is virtual: it
// advances in calls and in `compute`, and jumps ahead when no node can go on. So even an
// asynchronous run is repeated to the bit, and other seeds show other orders of the same run, rare
// ones too.
//
// A wait that cannot end is an error: `run` throws a RunError that names the waiting nodes and what
// they wait for. A message that its sender changes after sending is an error too. A node that holds
// a mutex across a wait blocks the others for real: the process is then aborted with a message. The
// engine has no collectives of its own (comm/engine_collectives.h).
class SeededCluster : public Cluster {
 public:
  SeededCluster(int nodes, const SeededOptions& options);

  std::vector<NodeId> here() const override;
  std::unique_ptr<Endpoint> endpoint(NodeId node) override;
  void run(const std::function<void(NodeId)>& body) override;

 private:
  std::shared_ptr<class SeededNodes> nodes_;
};

}  // namespace veche
