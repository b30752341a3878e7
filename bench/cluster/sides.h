#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace veche {

// The two sides of a comparison on a cluster: this program and PyTorch's DistributedDataParallel.
using Words = std::vector<std::string>;

inline Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// `veche train` behind a launcher's words; its summary.
nlohmann::json run_ours(Words launcher, const Words& assignments, int minutes = 15);

// The shell's words for one rank of the peer (ddp.py), which gets the rest from its environment.
std::string peer_command(const BenchOptions& options);
// Where its ranks find each other.
inline constexpr char kPeerPort[] = "29417";

// A word for the shell.
std::string quoted(const std::string& word);

}  // namespace veche
