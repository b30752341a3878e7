#pragma once

#include <functional>
#include <span>
#include <vector>

#include "veche/channel.h"

namespace veche {

// Nodes that are threads, each with a vector of its own and a second one to copy to, which all do one thing
// many times.
class Arena {
 public:
  struct Node {
    Channel& channel;
    std::span<float> data;
    std::span<float> scratch;
  };
  using Work = std::function<void(Node&)>;

  Arena(int nodes, std::size_t length);

  // Seconds from when all nodes are there until all have done `work` so many times. `before` and `after` are
  // done once in every node and not timed. Throws what a node throws; then the others must not wait for it.
  double seconds(int repeats, const Work& before, const Work& work, const Work& after);

  int nodes() const { return static_cast<int>(data_.size()); }
  std::size_t length() const { return data_.front().size(); }

 private:
  std::vector<std::vector<float>> data_;
  std::vector<std::vector<float>> scratch_;
};

}  // namespace veche
