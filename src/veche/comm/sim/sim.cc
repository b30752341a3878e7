#include "veche/comm/sim/sim.h"

#include "veche/base/module/modules.h"

namespace veche {

std::unique_ptr<Cluster> make_sim_cluster(int nodes, const SimNetwork& network) {
  const SimPlatform platform = network.platform.empty() ? SimPlatform{} : read_platform(network);
  return std::unique_ptr<Cluster>(
      module_function<MakeSimCluster>(modules::kSimGrid, kSimClusterSymbol)(nodes, network, platform));
}

}  // namespace veche
