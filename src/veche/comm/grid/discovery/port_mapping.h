#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace veche::grid {

// A port of the router that leads to one of this host, asked for by UPnP where a router answers and taken
// back at the end. A thread of its own does it, which nobody waits for longer than a moment: routers are
// slow, and most networks have none that answers.
class PortMapping {
 public:
  struct Outcome {
    std::string address;  // HOST:PORT outside; empty: there is none, because
    std::string why;
  };
  // `told` is called by the thread, when the first try has ended and when the address has changed.
  PortMapping(std::uint16_t port, std::function<void(const Outcome&)> told);
  ~PortMapping();
  PortMapping(const PortMapping&) = delete;
  PortMapping& operator=(const PortMapping&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace veche::grid
