#pragma once

#include <span>

#include "veche/channel.h"

namespace veche {

// How the floats of a sum travel where they do not travel as they are: in fewer bits, say. What is read from
// a message and written again gives the same numbers, so that a finished sum may pass through many hands and
// is the same for all. Belongs to one node.
class Wire {
 public:
  virtual ~Wire() = default;

  virtual Message write(std::span<const float> data) = 0;
  // into += what `from` wrote, or into = that. Throws RunError naming `from` when it is damaged.
  virtual void add(std::span<float> into, const Message& message, NodeId from) = 0;
  virtual void read(std::span<float> into, const Message& message, NodeId from) = 0;
};

}  // namespace veche
