#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace veche::grid {

// A router port forwarded to a port of this host, requested by UPnP if a router answers and
// released at the end. Runs on its own thread, which is never waited for longer than a moment:
// routers are slow, and most networks have none that answers.
class PortMapping {
 public:
  struct Outcome {
    std::string address;  // external HOST:PORT; empty: none, for the reason given
    std::string why;
  };
  // `report` is called on the thread, after the first attempt and whenever the address changes.
  PortMapping(std::uint16_t port, std::function<void(const Outcome&)> report);
  ~PortMapping();
  PortMapping(const PortMapping&) = delete;
  PortMapping& operator=(const PortMapping&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace veche::grid
