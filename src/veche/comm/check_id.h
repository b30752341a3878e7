#pragma once

#include <stdexcept>
#include <string>

#include "veche/node_id.h"

namespace veche {

// Throws std::out_of_range unless `node` is one of `nodes` nodes.
inline void check_id(NodeId node, int nodes) {
  if (node.value < 0 || node.value >= nodes)
    throw std::out_of_range("there is no node " + std::to_string(node.value));
}

}  // namespace veche
