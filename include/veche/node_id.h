#pragma once

#include <compare>
#include <functional>

namespace veche {

// The number of a node: 0 .. nodes-1. A type of its own, so that it cannot be swapped with a count,
// a step or a tag.
struct NodeId {
  int value = 0;

  auto operator<=>(const NodeId&) const = default;
};

}  // namespace veche

template <>
struct std::hash<veche::NodeId> {
  std::size_t operator()(veche::NodeId id) const noexcept { return std::hash<int>{}(id.value); }
};
