#pragma once

#include <limits>

#include "veche/train/loop/evaluator.h"
#include "veche/train/loop/node_parts.h"
#include "veche/train/loop/records.h"

namespace veche {

// Nodes in step exchange progress reports about twice a second and agree on whether to stop; all
// stop after the same step. Every node sends its report to node 0, which answers all. If steps are
// fast, reports and answers are read one step after they were sent, so that no node waits for the
// slowest.
class ProgressExchange {
 public:
  explicit ProgressExchange(const LoopParts& loop);

  // Returns whether to stop now. Every node calls it after every step.
  bool after_step();
  // After the last step: reads the messages that are still under way.
  void settle();

 private:
  struct Answer {
    double seconds_per_step = std::numeric_limits<double>::infinity();  // not known before the first report
    bool stop = false;
  };

  struct WatchedAnswer {
    Answer answer;
    Progress progress;
    bool nodes = false;  // another message with the reports of all nodes follows
  };

  bool tells_nodes();
  void begin();
  void hear();
  void answer();
  bool read_answer();
  Channel& channel() const { return node_.links.progress; }
  NodeId known_as(NodeId node) const { return channel().endpoint.known_as(node); }

  NodeParts node_;
  Evaluator& evaluator_;
  const Records records_;
  std::uint64_t next_ = node_.counters.step + 1;  // the step after which to begin the next exchange
  std::uint64_t begun_ = node_.counters.step;
  std::uint64_t late_ = 0;  // steps between sending and reading
  bool under_way_ = false;
  bool answered_ = false;                   // node 0 has answered
  std::uint64_t steps_ = 0;                 // since the last report
  Time took_{0};                            // for these steps
  Time trained_ = node_.counters.training;  // until begun_
  ProgressReport mine_;
  Answer answer_;  // the last one
  int quiet_ = 0;  // answers since node 0 last sent the reports of all nodes
};

}  // namespace veche
