#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "web/watch/measured.h"

namespace veche::web {

// What happened in a run, for the time line: nodes lost, back and joined, views, the best averaged
// model, checkpoints, the end.
class Marks {
 public:
  // The measurement that was made last, its nodes by place, and those of the one before; empty for the
  // first. `up`:
  // whether a larger main measure is better.
  void add(const Measurement& now, std::span<const NodeAt> before, std::span<const NodeAt> nodes, bool up);
  // The run was resumed: measurements from this step on are made again.
  void forget_from(double step);
  // Of the checkpoints that are kept.
  void look_for_checkpoints(const std::filesystem::path& folder);

  // [{"kind": "lost", "step": 20, "seconds": 1.5, "node": 3}, ..] in the order of their steps.
  nlohmann::json json(bool ended, const std::string& stopped, const Measurement* last) const;

 private:
  struct Mark {
    std::string kind;
    double step = 0, seconds = 0;
    double value = 0;   // the place of the node, the number of nodes, or the accuracy
    bool gone = false;  // lost: no longer measured, else it stands still
  };
  std::vector<Mark> marks_;
  std::set<double> standing_;  // nodes that are lost after these marks
  std::vector<Mark> best_;     // each better than those before: resuming takes the last ones back
  std::vector<double> checkpoints_;
};

}  // namespace veche::web
