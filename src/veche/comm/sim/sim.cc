#include "veche/comm/sim/sim.h"

#include "veche/base/module.h"

namespace veche {

std::unique_ptr<Cluster> make_sim_cluster(int nodes, const SimNetwork& network) {
  static const Module module{"veche_simgrid.so", "simulations", "libsimgrid-dev"};
  return std::unique_ptr<Cluster>(module_function<MakeSimCluster>(module, kSimClusterSymbol)(nodes, network));
}

}  // namespace veche
