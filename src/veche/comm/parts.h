#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "veche/node_id.h"

namespace veche {

// Numbering of nodes and division of vectors in collectives.

// The node with this number, modulo `size`.
inline NodeId wrapped(int node, int size) { return NodeId{((node % size) + size) % size}; }

// The start of part k of n; parts differ by at most one item, the larger ones first.
inline std::size_t part_start(std::size_t items, int parts, int k) {
  const auto n = static_cast<std::size_t>(parts);
  const auto at = static_cast<std::size_t>(k);
  return items / n * at + std::min(at, items % n);
}

// Parts [from, to) of n.
template <class T>
std::span<T> parts_of(std::span<T> data, int parts, int from, int to) {
  const std::size_t start = part_start(data.size(), parts, from);
  return data.subspan(start, part_start(data.size(), parts, to) - start);
}
template <class T>
std::span<T> part_of(std::span<T> data, int parts, int k) {
  return parts_of(data, parts, k, k + 1);
}

}  // namespace veche
