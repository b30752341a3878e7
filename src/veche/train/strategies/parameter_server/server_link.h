#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "veche/strategy.h"
#include "veche/train/compression/coder.h"
#include "veche/train/strategies/parameter_server/server.h"

namespace veche {

// A node's side of servers that nobody waits for: as a worker it exchanges vectors with all of them; where it
// is a server itself, or stands between others and one, a helper does that beside the training. With a codec
// pushes are codes, whose sender remembers what they leave out, and so are answers, of how the parameters
// differ from a copy of what the worker has: `pulled` then holds what it was given the last time.
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

  // Instead of these, where servers come and go: see server_link_alone.cc. `unpushed`: gradients that went to
  // nobody before; empty: none. `rate`: of this node's own steps until a server answers.
  void wait_for_nobody(std::vector<float> unpushed);
  void join_alone(std::uint64_t clock);
  void exchange_alone(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                      double rate);
  void leave_alone();
  void finish_alone(std::span<float> pulled);
  std::vector<float> take_unpushed() { return alone_ ? std::move(alone_->unpushed) : std::vector<float>(); }

  void look_at_rest(const std::function<void()>& look) {
    const std::lock_guard lock(mutex_);
    look();
  }
  Staleness staleness() const { return server_ ? server_->staleness() : Staleness{}; }
  // The part that this node serves, if it serves one; nobody asks any more.
  void put_back(std::span<float> parameters) {
    if (server_) std::ranges::copy(server_->parameters(), tree_.part(parameters, context_.me()).begin());
  }
  SavedState state();
  bool coded() const { return coder_.on(); }
  Coding coding() const;

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
  void make_streams();
  // Sends it, and counts what a codec saves.
  void send(Channel& channel, NodeId to, Message message, std::size_t floats);

  std::span<float> unpushed_part(std::size_t server) {
    return tree_.part(std::span<float>(alone_->unpushed), server);
  }
  void push_kept(std::size_t server, std::uint64_t clock);
  void await_owed(const std::vector<bool>& asked, std::span<float> pulled, double rate, Time deadline);
  void take_answer(const ServerMessage& answer, std::span<float> pulled, double rate);

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

  // With a codec: a push as numbers; an answer that is to be coded when the server is let go of.
  ServerMessage decoded(ServerMessage message);
  void code_answers();

  // What a server keeps of a worker with a codec.
  struct Answered {
    CodedStream stream;
    std::vector<float> copy;  // what it has
    bool wants_all = true;    // its next answer is no code
  };
  struct Answer {
    ServerMessage::Party party;
    std::vector<float> numbers;
  };

  // Of a worker that waits for nobody.
  struct Alone {
    std::vector<float> given;         // by servers, the last time
    std::vector<float> unpushed;      // the sum of gradients
    std::vector<bool> waits;          // by server: there is some in its part
    std::vector<std::uint64_t> owed;  // by server: answers
    std::vector<bool> lost;           // by node
    Time ended{0};                    // the exchange before
    Time usual_wait{0};
  };

  StrategyContext& context_;
  Coder coder_;
  std::deque<CodedStream> pushes_, pulls_;  // of the worker, by server; empty without a codec
  std::deque<CodedStream> decoders_;        // of the helper, where it serves: one, for pushes
  std::deque<Answered> answered_;           // of the helper, by worker
  std::vector<Answer> answers_;             // of the helper, to be coded
  Channel to_servers_ = context_.channel.child(0);
  Channel to_workers_ = context_.channel.child(1);
  const ServerTree tree_;
  const ServerPolicy policy_;
  std::vector<std::uint64_t> versions_;  // of each server's part that the worker has
  std::optional<Alone> alone_;
  std::mutex mutex_;                     // never held across a message
  std::unique_ptr<Server> server_;       // of this node's part, if it has one; guarded by mutex_
  std::deque<ServerMessage> backlog_;    // of the helper
  std::vector<Outgoing> outgoing_;       // of the helper
  std::vector<bool> gone_;               // of the helper: nodes that have sent all they ever will
  std::vector<std::size_t> unanswered_;  // of the helper: by server, of those it has passed up
};

}  // namespace veche
