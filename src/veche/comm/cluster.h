#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veche/base/module_api.h"
#include "veche/endpoint.h"

namespace veche {

// All nodes of a run, as one process sees them: some run in this process, the others are reached
// through endpoints. A cluster runs the nodes of its process. Destroy it after the endpoints it has
// made.
class Cluster {
 public:
  virtual ~Cluster() = default;

  // The nodes of this process, in order.
  virtual std::vector<NodeId> here() const = 0;
  // Once per node of this process, before `run`.
  virtual std::unique_ptr<Endpoint> endpoint(NodeId node) = 0;
  // Runs the nodes of this process side by side: `body` once for each. A node that has ended is
  // lost to the others. Returns when all nodes and their helpers have ended. Throws why a node
  // failed: the root cause, not its consequences.
  virtual void run(const std::function<void(NodeId node)>& body) = 0;
};

// Throws the first error that is not PeerLost, which only reports the end of another node; else the
// first.
VECHE_MODULE_API void rethrow_cause(const std::vector<std::exception_ptr>& errors);

// The processes that a launcher such as mpirun has started as one job. All ranks call the
// collective methods in the same order, each by one thread. Waiting uses no core. A rank that ends
// without `fail` ends the job.
class Job {
 public:
  virtual ~Job() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int ranks_on_this_host() const = 0;
  virtual std::string host_of(int rank) const = 0;
  bool on_one_host() const { return ranks_on_this_host() == size(); }

  // When a rank is lost, the lowest rank left calls `report`, on any thread, with a sentence that
  // names the lost rank and its host. Then the job ends.
  virtual void on_loss(std::function<void(const std::string& sentence)> report) = 0;

  // Collective: returns the texts of all ranks, by rank. Throws the failure of another rank, or
  // RunError when the others do not call it within `limit`. After a throw the job is over.
  virtual std::vector<std::string> exchange(const std::string& mine, Time limit = kForever) = 0;
  // This rank has failed. The other ranks learn it at once, and their waits for messages end. Takes
  // part in the next exchange of the others: all ranks throw the same cause, which names this rank.
  [[noreturn]] virtual void fail(const std::exception& why) = 0;
  // Collective: a cluster of `nodes` nodes, divided over the ranks in blocks. There may be fewer
  // nodes than ranks. `slots` nodes of this rank compute at a time; 0: one per core of this rank.
  virtual std::unique_ptr<Cluster> cluster(int nodes, int slots = 0) = 0;
};

}  // namespace veche
