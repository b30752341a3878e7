#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/cluster/sides.h"

namespace veche {

// The command line of scripts/netlab with four hosts and links of this rate in Mbit/s; `how` is its
// subcommand.
Words netlab(int rate, const std::string& how);

// PyTorch DDP (ddp.py), one rank on each of the four hosts; returns what rank 0 prints.
nlohmann::json run_ddp_on_hosts(int rate, const nlohmann::json& request, const BenchOptions& options,
                                int minutes);

// A network laboratory that lives as long as this object. Throws RunError if it cannot be created
// (it needs root).
class LabHosts {
 public:
  explicit LabHosts(int rate);
  ~LabHosts();
  LabHosts(const LabHosts&) = delete;
  LabHosts& operator=(const LabHosts&) = delete;

  struct Socket {
    int descriptor = -1;
    std::string address;
  };
  // A listening socket on a host, numbered from 0.
  Socket listen_on(std::size_t host) const;
  // Moves this process, which must have one thread, to a host.
  void enter(std::size_t host) const;

 private:
  struct Place {
    std::string space, address;
  };
  pid_t process_ = -1;
  int input_ = -1;  // closing it ends the laboratory
  std::vector<Place> places_;
};

}  // namespace veche
