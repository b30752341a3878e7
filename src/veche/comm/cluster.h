#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veche/base/module/module_api.h"
#include "veche/endpoint.h"

namespace veche {

// All nodes of a run, as one process sees them: some live here, the others are reached through endpoints. It
// owns their execution. Destroyed after the endpoints it gave out.
class Cluster {
 public:
  virtual ~Cluster() = default;

  // Those that live in this process, in order.
  virtual std::vector<NodeId> here() const = 0;
  // Once per node that lives here, before `run`.
  virtual std::unique_ptr<Endpoint> endpoint(NodeId node) = 0;
  // Runs the nodes that live here side by side, in the way of this engine: `body` once for each. Who has
  // ended is lost to the others. Returns when all have ended with their helpers; throws why one of them
  // failed, the cause before its consequences.
  virtual void run(const std::function<void(NodeId node)>& body) = 0;
};

// Throws the first that is no PeerLost, which only tells of somebody else's end; else the first.
VECHE_MODULE_API void rethrow_cause(const std::vector<std::exception_ptr>& errors);

// The processes that a launcher such as mpirun started as one job, and the rank of this one among them.
// Collective methods are called by all ranks, in the same order everywhere, by one thread. Waiting takes no
// core. A rank that ends without a word ends the job: nobody waits for it.
class Job {
 public:
  virtual ~Job() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int ranks_on_this_host() const = 0;
  virtual std::string host_of(int rank) const = 0;
  bool on_one_host() const { return ranks_on_this_host() == size(); }

  // Called on the first of the ranks that are left, by some thread, when one was lost, with a sentence that
  // names it and its host; then the job ends.
  virtual void on_loss(std::function<void(const std::string& sentence)> told) = 0;

  // Collective: everybody's text, by rank. Throws what another rank failed with or, as RunError, that the
  // others do not come within `limit`; the job is then at its end.
  virtual std::vector<std::string> exchange(const std::string& mine, Time limit = kForever) = 0;
  // This rank cannot go on: the others learn it at once, and those that wait for messages end their waits.
  // In place of an exchange, whatever the others exchange then: all throw the same cause, naming its rank.
  [[noreturn]] virtual void fail(const std::exception& why) = 0;
  // Collective: so many nodes, divided over the ranks in blocks. There may be fewer nodes than ranks. `slots`
  // of those here compute at a time; 0: as many as this rank has cores.
  virtual std::unique_ptr<Cluster> cluster(int nodes, int slots = 0) = 0;
};

}  // namespace veche
