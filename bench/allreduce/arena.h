#pragma once

#include <functional>
#include <span>
#include <vector>

#include "veche/channel.h"

namespace veche {

// Nodes as threads that all repeat the same work, each with its own vector and a second one to copy
// to.
class Arena {
 public:
  struct Node {
    Channel& channel;
    std::span<float> data;
    std::span<float> scratch;
  };
  using Work = std::function<void(Node&)>;

  Arena(int nodes, std::size_t length);

  // Seconds from the start of all nodes until all have done `work` `repeats` times. `before` and
  // `after` run once per node and are not timed. Rethrows a node's exception; the other nodes must
  // not wait for it then.
  double seconds(int repeats, const Work& before, const Work& work, const Work& after);

  int nodes() const { return static_cast<int>(data_.size()); }
  std::size_t length() const { return data_.front().size(); }

 private:
  std::vector<std::vector<float>> data_;
  std::vector<std::vector<float>> scratch_;
};

}  // namespace veche
