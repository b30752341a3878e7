#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace veche {

// The two sides of a cluster comparison: this program and PyTorch's DistributedDataParallel.
using Words = std::vector<std::string>;

inline Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Runs `veche train` under a launcher; returns its summary.
nlohmann::json run_ours(Words launcher, const Words& assignments, int minutes = 15);

// The shell command for one rank of the peer (ddp.py), which is configured by its environment.
std::string peer_command(const BenchOptions& options);
// The rendezvous port of its ranks.
inline constexpr char kPeerPort[] = "29417";

// Quotes a word for the shell.
std::string quoted(const std::string& word);

}  // namespace veche
