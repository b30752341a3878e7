#pragma once

#include <span>

#include "veche/channel.h"

namespace veche {

// How the floats of a sum are encoded, for example in fewer bits. Decoding and encoding again gives
// the same numbers, so a finished sum can be passed on many times and is the same on all nodes.
// Belongs to one node.
class Wire {
 public:
  virtual ~Wire() = default;

  virtual Message write(std::span<const float> data) = 0;
  // into += (add) or into = (read) what `from` wrote. Throws RunError that names `from` when it is
  // damaged.
  virtual void add(std::span<float> into, const Message& message, NodeId from) = 0;
  virtual void read(std::span<float> into, const Message& message, NodeId from) = 0;
  // Throws the same if the message has not the size of this many floats; for nodes that forward it
  // before they read it.
  virtual void check(std::size_t floats, const Message& message, NodeId from) const = 0;
};

}  // namespace veche
