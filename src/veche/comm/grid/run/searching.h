#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/discovery/lan.h"
#include "veche/comm/grid/discovery/port_mapping.h"
#include "veche/comm/grid/run/own_part.h"
#include "veche/comm/grid/run/worker.h"

namespace veche::grid {

// Lets others find and reach this member (a port of the router, where one is asked for), and looks for them
// where the addresses that are known do not answer: on the local network and in the table that
// `GridOptions::directory` is. What is found are hints, which the links try.
class Searching {
 public:
  explicit Searching(OwnPart& own);

  // Begins. Once, by any thread.
  void watch();
  // After the links have stopped.
  void stop();

 private:
  void map_port();
  void look();
  void announce();
  void look_up();

  OwnPart& own_;
  const std::string name_;  // of the run, in the table
  // The links' thread's.
  Time next_look_{0}, pause_{0}, next_announcement_{0};

  std::optional<PortMapping> port_;
  std::optional<Lan> lan_;
  Worker worker_;  // last: waits for the table
};

// For a newcomer that knows a run's id alone: where members may be. Waits until somebody is found, at most
// for the limit.
std::vector<std::string> search_for(const MemberId& run, const GridOptions& options, Time limit);

}  // namespace veche::grid
