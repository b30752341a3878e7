#include "veche/comm/sim/sim.h"

#include "veche/base/module/module.h"

namespace veche {

std::unique_ptr<Cluster> make_sim_cluster(int nodes, const SimNetwork& network) {
  static const Module module{"veche_simgrid.so", "simulations", "libsimgrid-dev"};
  const SimPlatform platform = network.platform.empty() ? SimPlatform{} : read_platform(network);
  return std::unique_ptr<Cluster>(
      module_function<MakeSimCluster>(module, kSimClusterSymbol)(nodes, network, platform));
}

}  // namespace veche
