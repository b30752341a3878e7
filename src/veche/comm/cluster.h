#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/comm/endpoint.h"

namespace veche {

// All nodes of a run, as one process sees them: some live here, the others are reached through endpoints.
// Destroyed after the endpoints it gave out.
class Cluster {
 public:
  virtual ~Cluster() = default;

  // Those that live in this process, in order.
  virtual std::vector<NodeId> here() const = 0;
  // Once per node that lives here.
  virtual std::unique_ptr<Endpoint> endpoint(NodeId node) = 0;
};

// Processes that a launcher such as mpirun started together, and this one's place among them: its rank. The
// methods that all ranks call together are called in the same order everywhere, by one thread; they throw
// RunError when a rank is gone, naming it. Waiting takes no core.
class Job {
 public:
  virtual ~Job() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int ranks_on_this_host() const = 0;
  virtual std::string host_of(int rank) const = 0;

  // Together: everybody's text, by rank.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // Together: so many nodes divided over the ranks in blocks. There may be fewer nodes than ranks.
  virtual std::unique_ptr<Cluster> cluster(int nodes) = 0;
};

}  // namespace veche
