#pragma once

#include <memory>

#include "veche/comm/cluster.h"

namespace veche {

// The engine whose nodes are threads of this process: a message is a pointer handed over.
// A node is alive from the cluster's making until it has ended or its endpoint is destroyed; those who wait
// for it then learn that it is lost, after what it sent before has been read. Endpoints keep what they share
// alive.
class ThreadsCluster : public Cluster {
 public:
  // So many compute at a time; 0: as many as there are cores.
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
