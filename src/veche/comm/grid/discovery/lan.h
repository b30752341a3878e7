#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "veche/comm/grid/member.h"

namespace veche::grid {

struct LanOptions {
  MemberId run;
  std::string listen;  // HOST:PORT of this member, which says on which networks it is heard of; the port
                       // may be 0: it only looks
  std::function<void(const std::string& address)> found;  // somebody may be there; by the thread of this
};

// Finds members of a run on the local network, by multicast (239.255.86.69, port 23169, which no router
// passes on), and lets others find this one. All that it tells are hints. A thread of its own.
class Lan {
 public:
  // Says at once that it is here. Where there is no network, or the port is somebody else's, nothing is ever
  // found.
  explicit Lan(const LanOptions& options);
  ~Lan();

  // There is a network on which it could be heard. Any thread.
  bool has_networks() const;
  // Asks who is there. Any thread.
  void seek();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace veche::grid
