#pragma once

#include <chrono>
#include <memory>

#include "veche/comm/cluster.h"

namespace veche {

struct SeededOptions {
  std::uint64_t seed = 1;     // decides who goes when, how long passes take and when messages arrive
  Time pass{0.001};           // of computing, about; some nodes are ten times slower
  Time longest_delay{0.002};  // of a message, under way
  // When nobody can go on but by a deadline that is so far away, somebody waits for what never comes.
  Time stuck_after{60};
  Time longest{600};                               // a run that goes on for so long never ends
  std::chrono::duration<double> real_silence{30};  // without a call to the engine; see below
};

// An engine for tests. Nodes and helpers are threads of this process, but only one of them goes at a time,
// and at every call of its endpoint another may go first: who, the seed decides. Time is virtual: it passes
// in calls and passes, and when nobody can go on it jumps to when somebody can. So a run is repeated to the
// bit, be it asynchronous, and other seeds show other orders of the same run, the rare ones too.
//
// A wait that cannot end is an error: `run` throws a RunError that names who waits for what and from whom.
// So is a message that its sender has changed after sending. Who holds a mutex across a wait keeps another
// from going on for real: the process is then aborted, in words. It has no collectives of its own
// (comm/engine_collectives.h).
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
