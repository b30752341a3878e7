#pragma once

#include "veche/strategy.h"
#include "veche/train/compression/coder.h"
#include "veche/train/strategies/parameter_server/server_message.h"
#include "veche/train/strategies/parameter_server/server_policy.h"

namespace veche {

// Children of the strategy's tag.
enum ServerTalk : std::uint64_t { kToServers = 0, kToWorkers = 1 };

// How the nodes of asynchronous servers reach each other: what a node's worker session and its
// server helper share. The session and the helper run at the same time; nothing here changes but
// the coder's counts.
class ServerNetwork {
 public:
  ServerNetwork(StrategyContext& given, ServerTree its_tree, ServerPolicy its_policy)
      : context(given),
        coder(given),
        tree(its_tree),
        policy(its_policy),
        to_servers(given.channel.child(kToServers)),
        to_workers(given.channel.child(kToWorkers)) {}

  std::size_t me() const { return context.me(); }
  std::size_t servers() const { return tree.servers(); }
  bool serves() const { return me() < servers(); }
  // Whether the route to this server begins with this node's own helper.
  bool has_helper_for(std::size_t server) const { return me() == server || tree.has_children(server); }
  // The first node on the route to this server.
  NodeId next_to(std::size_t server) const {
    return has_helper_for(server) ? context.channel.me() : tree.parent(server);
  }

  MessagePool& pool() { return context.channel.pool; }
  // Sends a coded message in place of this many floats, and counts what the codec saves.
  void send_coded(Channel& channel, NodeId to, Message message, std::size_t floats) {
    if (to != context.channel.me())
      coder.count(floats * sizeof(float) + sizeof(ServerMessage::Party), message.size());
    channel.send(to, std::move(message));
  }
  // A message that arrived on one of the two channels. Throws BadMessage, which names the sender.
  ServerMessage opened(NodeId from, Message message) const {
    return open(std::move(message), known_as(from), limits_);
  }
  NodeId known_as(NodeId peer) const { return context.channel.endpoint.known_as(peer); }
  // The streams of one server's part: gradients pushed to it, and changes of its parameters pulled
  // from it.
  StreamShape pushed_shape(std::size_t server) const { return shape_of(server, false); }
  StreamShape pulled_shape(std::size_t server) const { return shape_of(server, true); }

  StrategyContext& context;
  Coder coder;
  const ServerTree tree;
  const ServerPolicy policy;
  Channel to_servers, to_workers;

 private:
  ServerMessageLimits limits() const {
    ServerMessageLimits all{.workers = context.nodes(), .coded = coder.on()};
    for (std::size_t server = 0; server < servers(); ++server)
      all.lengths.push_back(tree.part(context.learner.parameters(), server).size());
    return all;
  }
  StreamShape shape_of(std::size_t server, bool copies) const {
    const std::span<float> whole = context.learner.parameters();
    const std::span<float> part = tree.part(whole, server);
    return coder.shape(static_cast<std::size_t>(part.data() - whole.data()), part.size(), copies,
                       context.nodes());
  }

  const ServerMessageLimits limits_ = limits();
};

}  // namespace veche
