#pragma once

#include <string>
#include <vector>

#include "veche/endpoint.h"

namespace veche {

// Records what a node does when (run.trace), for a file in Chrome's trace format, which Perfetto
// reads too. Each node is a process of the trace with one row. Belongs to the node's thread. Spans
// beyond a million are counted and left out: viewers cannot show that many.
class Trace {
 public:
  // `name` outlives it. `micro_batch` is negative for spans that are not of a micro-batch.
  void span(const char* name, Time from, Time to, int micro_batch = -1);

  // The events of one node, separated by commas; the viewer shows `title`.
  std::string events(NodeId node, const std::string& title) const;
  // The whole file, made of the `events` of all nodes.
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
