#pragma once

#include <limits>

#include "veche/train/loop/evaluator.h"
#include "veche/train/loop/node_parts.h"

namespace veche {

// Nodes in step share how it goes about twice a second, and decide whether to stop, which all do
// after the same step. Node 0 hears everybody and answers. Where steps are quick, each half of it is read a
// step later than it was sent, so that nobody waits for the slowest.
class ProgressExchange {
 public:
  explicit ProgressExchange(const LoopParts& loop) : node_(loop.node), evaluator_(loop.evaluator) {}

  // Tells whether to stop now. Every node calls it after every step.
  bool after_step();
  // Leaves no message unread, after the last step.
  void settle();

 private:
  struct Answer {
    double seconds_per_step = std::numeric_limits<double>::infinity();  // not known before the first
    bool stop = false;
  };

  struct WatchedAnswer {
    Answer answer;
    Progress progress;
    bool nodes = false;  // another message tells where all are
  };

  bool tells_nodes();
  void begin();
  void hear();
  void answer();
  bool read_answer();
  Channel& channel() const { return node_.links.progress; }

  NodeParts node_;
  Evaluator& evaluator_;
  std::uint64_t next_ = node_.counters.step + 1;  // step to begin after
  std::uint64_t begun_ = node_.counters.step;
  std::uint64_t late_ = 0;  // steps between sending and reading
  bool under_way_ = false;
  bool answered_ = false;                   // by node 0
  std::uint64_t steps_ = 0;                 // since the report before
  Time took_{0};                            // these
  Time trained_ = node_.counters.training;  // until begun_
  ProgressReport mine_;
  Answer answer_;  // the last one
  int quiet_ = 0;  // answers since node 0 told where all are
};

}  // namespace veche
