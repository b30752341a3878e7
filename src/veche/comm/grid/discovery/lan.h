#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "veche/comm/grid/member.h"

namespace veche::grid {

struct LanOptions {
  MemberId run;
  std::string listen;  // HOST:PORT of this member, which selects the networks; port 0: only searches
  // a member may be there; called on this object's thread
  std::function<void(const std::string& address)> found;
};

// Finds members of a run on the local network by multicast (239.255.86.69, port 23169, not routed),
// and lets other members find this one. All results are hints. Has its own thread.
class Lan {
 public:
  // Announces itself at once. Without a network, or if the port is in use, nothing is ever found.
  explicit Lan(const LanOptions& options);
  ~Lan();

  // Whether there is a network on which it could be heard. Any thread.
  bool has_networks() const;
  // Asks for members. Any thread.
  void seek();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace veche::grid
