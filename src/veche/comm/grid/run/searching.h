#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/discovery/lan.h"
#include "veche/comm/grid/discovery/port_mapping.h"
#include "veche/comm/grid/run/member_context.h"
#include "veche/comm/grid/run/worker.h"

namespace veche::grid {

// Makes this member reachable (a router port, if requested), and searches for members whose known
// addresses do not answer: on the local network and in `GridOptions::directory`. Results are hints
// for the links.
class Searching {
 public:
  explicit Searching(MemberContext& own);

  // Starts. Once, from any thread.
  void watch();
  // After the links have stopped.
  void stop();

 private:
  void map_port();
  void look();
  void announce();
  void look_up();

  MemberContext& own_;
  const std::string name_;  // of the run, in the table
  // Links thread only.
  Time next_look_{0}, pause_{0}, next_announcement_{0};

  std::optional<PortMapping> port_;
  std::optional<Lan> lan_;
  Worker worker_;  // declared last: waits for the table
};

// For a newcomer that knows only a run's id: addresses of possible members. Waits until one is
// found, at most for the limit.
std::vector<std::string> search_for(const MemberId& run, const GridOptions& options, Time limit);

}  // namespace veche::grid
