#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"
#include "veche/comm/sim/platform_file.h"

namespace veche {

// What a simulated network is made of. Bytes, seconds and operations a second.
struct SimLink {
  double bandwidth = 125e6;
  double latency = 50e-6;
};

// Nodes in one place, in the order of their numbers; without `uplink` they hang on the middle of the network.
struct SimSite {
  std::vector<SimLink> links;  // one a node: both ways at once, each at the full bandwidth
  bool has_uplink = false;
  SimLink uplink;  // between the site and the middle; shared by its nodes
};

// A host that is gone for a while: what it computes and what is under way to it and from it rests meanwhile.
// One that is gone for good is lost to the others.
struct SimLoss {
  int node = 0;
  double at = 0;
  double length = 0;  // infinity: for good
  double every = 0;   // above 0: again and again, on the average after so many seconds, whatever `at` says
};

struct SimNetwork {
  std::string platform;  // a file of SimGrid's; else:
  enum class Shape { star, full } shape = Shape::star;
  std::vector<SimSite> sites;  // shape star
  SimLink pair;                // shape full: of every two nodes

  bool lv08 = true;           // the model of TCP that was measured (LV08), or the plain one (CM02)
  bool crosstraffic = true;   // acknowledgements take 5 % of the way back
  bool duplex = true;         // large messages of two nodes to each other go both ways at once, or in turn
  double jitter = 0;          // each message leaves up to so much later
  std::vector<double> speed;  // of each node; empty: the platform's
  std::vector<SimLoss> losses;
  std::uint64_t seed = 1;

  // Where nodes have short vectors that stand for long ones: of each message every `short_floats` count as
  // `long_bytes`, and the rest as what it is. 0: nothing stands for anything else.
  std::uint64_t short_floats = 0;
  double long_bytes = 0;
};

// The engine in virtual time: a node is an actor of SimGrid, so are its helpers, and what they send takes the
// time that SimGrid's models of a network say. Passes take what they cost (Work::flops); all other computing
// takes none, nor do the messages by which a run is watched and steered (comm/tags.h: all but `strategy` and
// `samples`). A run is repeated to the last digit of its clock. Messages that are sent inside a pass leave
// evenly over its last two thirds, which is when gradients become known.
//
// A wait that cannot end is an error: `run` throws a RunError that names who waits for what. It has no
// collectives of its own. A process has one such cluster, once: SimGrid's clock does not begin anew.
//
// The engine is a module. Throws RequestError where it is missing or was used already, where the platform
// cannot be read, has fewer hosts than nodes, or no route between two of them.
std::unique_ptr<Cluster> make_sim_cluster(int nodes, const SimNetwork& network);

// The symbol that the module exports, as extern "C"; the caller owns the cluster. `platform` is
// network.platform, or empty.
using MakeSimCluster = Cluster*(int nodes, const SimNetwork& network, const SimPlatform& platform);
inline constexpr char kSimClusterSymbol[] = "veche_sim_cluster";

}  // namespace veche
