#include "veche/base/module/module_api.h"
#include "veche/comm/sim/nodes.h"
#include "veche/comm/sim/sim.h"
#include "veche/comm/sim/trial.h"

namespace veche {
namespace {

class SimEndpoint : public Endpoint {
 public:
  SimEndpoint(std::shared_ptr<SimNodes> nodes, NodeId id) : nodes_(std::move(nodes)), id_(id) {}
  ~SimEndpoint() override { nodes_->lose(id_); }

  NodeId id() const override { return id_; }
  int size() const override { return nodes_->size(); }
  void send(NodeId to, Tag tag, Message message) override { nodes_->send(id_, to, tag, std::move(message)); }
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    return nodes_->receive(id_, from, tag, deadline);
  }
  Time now() const override { return nodes_->now(); }
  bool alive(NodeId peer) const override {
    nodes_->check_id(peer);
    return nodes_->alive(peer);
  }
  Traffic sent() const override { return nodes_->sent(id_); }
  void spawn(std::function<void()> helper) override { nodes_->spawn(id_, std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return nodes_->compute(id_, what, work);
  }

 private:
  const std::shared_ptr<SimNodes> nodes_;
  const NodeId id_;
};

class SimCluster : public Cluster {
 public:
  SimCluster(int nodes, const SimNetwork& network, const SimPlatform& platform)
      : nodes_(std::make_shared<SimNodes>(nodes, network, platform)) {}

  std::vector<NodeId> here() const override {
    std::vector<NodeId> all;
    for (int i = 0; i < nodes_->size(); ++i) all.push_back(NodeId{i});
    return all;
  }
  std::unique_ptr<Endpoint> endpoint(NodeId node) override {
    nodes_->check_id(node);
    return std::make_unique<SimEndpoint>(nodes_, node);
  }
  void run(const std::function<void(NodeId)>& body) override { nodes_->run(body); }

 private:
  const std::shared_ptr<SimNodes> nodes_;
};

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API veche::Cluster* veche_sim_cluster(int nodes, const veche::SimNetwork& network,
                                                              const veche::SimPlatform& platform) {
  if (!platform.file.empty()) veche::try_platform(nodes, network, platform);
  return new veche::SimCluster(nodes, network, platform);
}
