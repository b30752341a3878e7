#include "veche/base/module_api.h"
#include "veche/comm/check_id.h"
#include "veche/comm/sim/nodes.h"
#include "veche/comm/sim/sim.h"
#include "veche/comm/sim/trial.h"

namespace veche {
namespace {

class SimEndpoint : public Endpoint {
 public:
  SimEndpoint(std::shared_ptr<SimNodes> nodes, NodeId id)
      : Endpoint({id, nodes->size()}), nodes_(std::move(nodes)) {}
  ~SimEndpoint() override { nodes_->lose(id()); }

  void send(NodeId to, Tag tag, Message message) override {
    count_sent(nodes_->send(id(), to, tag, std::move(message)));
  }
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    return nodes_->receive(id(), from, tag, deadline);
  }
  Time now() const override { return nodes_->now(); }
  bool alive(NodeId peer) const override {
    check_id(peer, size());
    return nodes_->alive(peer);
  }
  void spawn(std::function<void()> helper) override { nodes_->spawn(id(), std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return nodes_->compute(id(), what, work);
  }

 private:
  const std::shared_ptr<SimNodes> nodes_;
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
    check_id(node, nodes_->size());
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
