#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"
#include "veche/comm/sim/platform_file.h"

namespace veche {

// A simulated network. Units: bytes, seconds, operations per second.
struct SimLink {
  double bandwidth = 125e6;
  double latency = 50e-6;
};

// Nodes in one place, in the order of their numbers; without `uplink` they are attached to the
// centre of the network.
struct SimSite {
  std::vector<SimLink> links;  // one per node: full duplex at full bandwidth
  bool has_uplink = false;
  SimLink uplink;  // between the site and the centre; shared by its nodes
};

// A temporary host failure: its computation, and messages to and from it, pause meanwhile. A host
// that fails for good is lost to the others.
struct SimLoss {
  int node = 0;
  double at = 0;
  double length = 0;  // infinity: for good
  double every = 0;   // above 0: repeatedly, on average after this many seconds; `at` is ignored
};

struct SimNetwork {
  std::string platform;  // a SimGrid file; otherwise:
  enum class Shape { star, full } shape = Shape::star;
  std::vector<SimSite> sites;  // shape star
  SimLink pair;                // shape full: between every two nodes

  bool lv08 = true;           // the calibrated TCP model (LV08), or the plain one (CM02)
  bool crosstraffic = true;   // acknowledgements take 5 % of the reverse direction
  bool duplex = true;         // large messages between two nodes go both ways at once, or in turn
  double jitter = 0;          // maximum random delay of each message
  std::vector<double> speed;  // per node; empty: the platform's
  std::vector<SimLoss> losses;
  std::uint64_t seed = 1;
  bool threads = false;  // a thread for each node and helper, many times slower than a stack each

  // If short vectors stand for long ones: every `short_floats` of a message count as `long_bytes`,
  // the rest as it is. 0: no scaling.
  std::uint64_t short_floats = 0;
  double long_bytes = 0;
};

// The engine in virtual time. Nodes and helpers are SimGrid actors, and their messages take the
// time of SimGrid's network models. Passes take the time of their cost (Work::flops). All other
// computation takes none, nor do monitoring and control messages (comm/tags.h: all but `strategy`
// and `samples`). A run is repeatable to the last digit of its clock. Messages sent inside a pass
// leave evenly over its last two thirds, when gradients become known.
//
// A wait that cannot end is an error: `run` throws a RunError that names the waiting nodes. It has
// no collectives of its own. One cluster per process, once: SimGrid's clock cannot be restarted.
//
// The engine is a module. Throws RequestError if it is missing or was already used, or if the
// platform cannot be read, has fewer hosts than nodes, or has no route between two of them.
std::unique_ptr<Cluster> make_sim_cluster(int nodes, const SimNetwork& network);

// The symbol exported by the module, as extern "C". The caller owns the cluster. `platform` is
// network.platform, or empty.
using MakeSimCluster = Cluster*(int nodes, const SimNetwork& network, const SimPlatform& platform);
inline constexpr char kSimClusterSymbol[] = "veche_sim_cluster";

}  // namespace veche
