#pragma once

#include <memory>

#include "veche/comm/cluster.h"

namespace veche {

// The engine whose nodes are threads of this process: a message is a pointer. A node is alive from
// the construction of the cluster until it ends or its endpoint is destroyed; then its peers learn
// that it is lost, after they have read what it sent. Endpoints keep their shared state alive.
class ThreadsCluster : public Cluster {
 public:
  // `slots` nodes compute at a time; 0: one per core.
  explicit ThreadsCluster(int nodes, int slots = 0);

  std::vector<NodeId> here() const override;
  std::unique_ptr<Endpoint> endpoint(NodeId node) override;
  void run(const std::function<void(NodeId)>& body) override;

 private:
  struct Shared;
  friend class ThreadsEndpoint;
  std::shared_ptr<Shared> shared_;
};

}  // namespace veche
