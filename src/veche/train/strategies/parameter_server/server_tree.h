#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "veche/node_id.h"

namespace veche {

// Divides a flat vector and the routes to it among servers: server s is node s and has part s.
// Messages to it go up a tree of its own, in which positions count from the server around the
// nodes, and the children of position r are r*F+1 .. r*F+F.
class ServerTree {
 public:
  ServerTree(std::size_t nodes, std::size_t me, std::size_t servers, std::size_t fanout)
      : nodes_(nodes),
        me_(me),
        servers_(servers),
        fanout_(fanout > 0 ? fanout : std::max<std::size_t>(1, nodes - 1)) {}

  std::size_t servers() const { return servers_; }

  template <class T>
  std::span<T> part(std::span<T> vector, std::size_t server) const {
    const std::size_t from = vector.size() * server / servers_;
    return vector.subspan(from, vector.size() * (server + 1) / servers_ - from);
  }

  template <class Do>
  void for_children(std::size_t server, Do action) const {
    const std::size_t first = position(me_, server) * fanout_ + 1;
    for (std::size_t child = first; child < std::min(first + fanout_, nodes_); ++child)
      action(node_at(child, server));
  }
  bool has_children(std::size_t server) const { return has_children(me_, server); }
  bool has_children(std::size_t node, std::size_t server) const {
    return position(node, server) * fanout_ + 1 < nodes_;
  }

  NodeId parent(std::size_t server) const { return node_at((position(me_, server) - 1) / fanout_, server); }
  // Whether the route from `node` to the server goes through this node, from below.
  bool is_below(std::size_t node, std::size_t server) const {
    const std::size_t mine = position(me_, server);
    std::size_t at = position(node, server);
    while (at > mine) at = (at - 1) / fanout_;
    return at == mine && node != me_;
  }
  // The child on the route down to `node`, which is below this one.
  NodeId towards(std::size_t node, std::size_t server) const {
    const std::size_t mine = position(me_, server);
    std::size_t at = position(node, server);
    while ((at - 1) / fanout_ != mine) at = (at - 1) / fanout_;
    return node_at(at, server);
  }

 private:
  std::size_t position(std::size_t node, std::size_t server) const {
    return (node + nodes_ - server) % nodes_;
  }
  NodeId node_at(std::size_t position, std::size_t server) const {
    return NodeId{static_cast<int>((position + server) % nodes_)};
  }

  const std::size_t nodes_, me_, servers_, fanout_;
};

}  // namespace veche
