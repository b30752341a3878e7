#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/cluster/sides.h"

namespace veche {

// scripts/netlab with four hosts whose links take so many Mbit/s; `how` is what it is to do.
Words netlab(int rate, const std::string& how);

// Such a laboratory for as long as this lives. Throws RunError where it cannot be made (it needs root).
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
  // One that listens on a host, 0 and on, whoever has it.
  Socket listen_on(std::size_t host) const;
  // This process, which has one thread, is there from now on.
  void enter(std::size_t host) const;

 private:
  struct Place {
    std::string space, address;
  };
  pid_t process_ = -1;
  int input_ = -1;  // it ends when this is closed
  std::vector<Place> places_;
};

}  // namespace veche
