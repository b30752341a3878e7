#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/train/strategies/parameter_server/server.h"
#include "veche/train/strategies/parameter_server/server_network.h"

namespace veche {

// Serves this node's part of the parameters, and passes messages between other workers and their
// servers, beside the training: a helper of the endpoint runs it on nodes that do either. With a
// codec it keeps a copy of what each worker was answered last, and answers with codes of the
// changes.
class ServerHelper {
 public:
  // `make_rule` is called only on servers, with the length of their part. The parameters start as
  // the learner's.
  ServerHelper(ServerNetwork& network,
               const std::function<std::unique_ptr<ServerRule>(std::size_t length)>& make_rule);

  // The node's calls.
  void start();
  // Before start, on the grid: a lost node fails no other node, since the next view continues
  // without it.
  void tolerate_losses() { tolerates_losses_ = true; }
  void inspect(const std::function<void()>& look) {
    const MutexLock lock(mutex_);
    look();
  }
  Staleness staleness() const {
    const MutexLock lock(mutex_);
    return server_ ? server_->staleness() : Staleness{};
  }
  // Called by `look` of inspect, which holds the mutex, or when no helper is left. Not
  // checked: clang does not see the mutex through `look`.
  SavedState state() VECHE_NOT_CHECKED { return server_ ? server_->state() : SavedState{}; }
  // Copies the part that this node serves into a whole vector. No worker asks any more.
  void put_back(std::span<float> parameters) {
    const MutexLock lock(mutex_);
    if (server_)
      std::ranges::copy(server_->parameters(), network_.tree.part(parameters, network_.me()).begin());
  }

 private:
  struct Incoming {
    NodeId from;
    ServerMessage message;
  };
  struct Outgoing {
    Channel& channel;
    NodeId to;
    Message message;
  };
  // What a server keeps of a worker with a codec.
  struct Answered {
    CodedStream stream;
    std::vector<float> copy;  // the parameters that the worker has
    bool wants_all = true;    // its next answer is not coded
  };
  // An answer that is coded when the server's mutex is released.
  struct Answer {
    ServerMessage::Party party;
    std::vector<float> numbers;
  };

  void make_streams(std::size_t length);
  void serve();
  // Takes one message or loss; returns whether there was one before the deadline.
  bool receive(Time deadline);
  // Throws PeerLost when answers that workers wait for can no longer come.
  void check_answers_can_come();
  bool holds_answers();
  void handle(NodeId from, ServerMessage message);
  void pass_up(ServerMessage message);
  void pass_down(std::size_t server, std::span<const ServerMessage::Party> parties,
                 std::span<const float> numbers);
  // A coded push as numbers.
  ServerMessage decoded(ServerMessage message);
  void code_answers();

  ServerNetwork& network_;
  bool tolerates_losses_ = false;
  mutable Mutex mutex_;                                      // never held across a message
  std::unique_ptr<Server> server_ VECHE_GUARDED_BY(mutex_);  // of this node's part, if it serves one
  // Of the helper only:
  std::deque<Incoming> backlog_;
  std::vector<Outgoing> outgoing_;
  std::vector<bool> gone_;                // nodes that have sent all they ever will
  std::vector<std::size_t> unanswered_;   // by server: requests passed up that have no answer yet
  std::unique_ptr<CodedStream> decoder_;  // of pushes; with a codec, on servers
  std::deque<Answered> answered_;         // by worker; with a codec, on servers
  std::vector<Answer> answers_;
};

}  // namespace veche
