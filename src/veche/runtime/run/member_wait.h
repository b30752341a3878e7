#pragma once

#include <string>

#include "veche/comm/grid/grid.h"
#include "veche/config.h"
#include "veche/runtime/run/session.h"

namespace veche {

// grid.wait_for: keeps members from training until enough of them are in a view. A run that has
// made a step waits for no member.
class MemberWait {
 public:
  // grid.wait_limit counts from now.
  explicit MemberWait(const Settings& settings);

  bool is_due(const View& view) const;
  // Returns when the view changes or the run is interrupted. Throws RunError after the limit.
  void wait(grid::Grid& grid, const View& view, const TrainingSession& session) const;

 private:
  const int wanted_;
  const std::string limit_text_;
  const Time limit_, start_;
};

// The names of the members in the present view: " (a, b and 3 more)".
std::string member_names(const grid::Grid& grid);

}  // namespace veche
