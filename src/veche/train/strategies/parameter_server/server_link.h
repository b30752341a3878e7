#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "veche/strategy.h"
#include "veche/train/strategies/parameter_server/server.h"

namespace veche {

// A node's side of servers that nobody waits for: as a worker it exchanges vectors with all of them; where it
// is a server itself, or stands between others and one, a helper does that beside the training.
class ServerLink {
 public:
  // `make_rule` is asked on servers only, with the length of their part. The servers' parameters begin as the
  // learner's.
  ServerLink(StrategyContext& context, ServerTree tree, ServerPolicy policy,
             const std::function<std::unique_ptr<ServerRule>(std::size_t length)>& make_rule);

  // The worker's calls, in this order.
  void start();
  void join(std::span<float> pulled, std::uint64_t clock);  // may have to wait until it is not too far ahead
  // Pushes a part to every server and then takes what they answer. An empty vector: it was lost.
  void exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock);
  void leave();
  void finish(std::span<float> pulled);  // all have left

  void look_at_rest(const std::function<void()>& look) {
    const std::lock_guard lock(mutex_);
    look();
  }
  Staleness staleness() const { return server_ ? server_->staleness() : Staleness{}; }
  SavedState state();

 private:
  // A message of the helper's that is ready to be sent.
  struct Outgoing {
    Channel& channel;
    NodeId to;
    Message message;
  };

  // Whether the way to this server begins with this node's own helper.
  bool has_helper_for(std::size_t server) const {
    return context_.me() == server || tree_.has_children(server);
  }
  NodeId next_to(std::size_t server) const {
    return has_helper_for(server) ? context_.channel.me() : tree_.parent(server);
  }
  void send_up(ServerMessage::Kind kind, std::size_t server, std::uint64_t clock,
               std::span<const float> numbers);
  void await_answers(std::span<float> pulled);

  // The helper.
  void serve();
  // Takes one message or loss; whether there was one before the deadline.
  bool hear(Time deadline);
  // Throws PeerLost when answers that others wait for cannot come any more.
  void check_answers_can_come();
  void handle(ServerMessage message);
  void pass_up(ServerMessage message);
  void pass_down(std::size_t server, std::span<const ServerMessage::Party> parties,
                 std::span<const float> numbers);

  StrategyContext& context_;
  Channel to_servers_ = context_.channel.child(0);
  Channel to_workers_ = context_.channel.child(1);
  const ServerTree tree_;
  const ServerPolicy policy_;
  std::vector<std::uint64_t> versions_;  // of each server's part that the worker has
  std::mutex mutex_;                     // never held across a message
  std::unique_ptr<Server> server_;       // of this node's part, if it has one; guarded by mutex_
  std::deque<ServerMessage> backlog_;    // of the helper
  std::vector<Outgoing> outgoing_;       // of the helper
  std::vector<bool> gone_;               // of the helper: nodes that have sent all they ever will
  std::vector<std::size_t> unanswered_;  // of the helper: by server, of those it has passed up
};

}  // namespace veche
