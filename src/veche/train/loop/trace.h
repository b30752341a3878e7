#pragma once

#include <string>
#include <vector>

#include "veche/endpoint.h"

namespace veche {

// What a node did when, for run.trace: spans of its time, written as Chrome's trace format wants them (which
// Perfetto reads as well): a node is a process there, what it does lies in one row. Belongs to the node's
// thread. Spans beyond a million are counted and left out: a viewer would not show them.
class Trace {
 public:
  // `name` outlives it. A number that is not negative is the micro-batch's.
  void span(const char* name, Time from, Time to, int micro_batch = -1);

  // The events of one node, separated by commas; `title` is how people know it.
  std::string events(NodeId node, const std::string& title) const;
  // All of a run, from what `events` has returned for its nodes.
  static std::string file(const std::vector<std::string>& of_nodes);

 private:
  static constexpr std::size_t kMost = 1'000'000;
  struct Span {
    const char* name;
    double from, to;  // seconds
    int micro_batch;
  };
  std::vector<Span> spans_;
  std::size_t left_out_ = 0;
};

}  // namespace veche
