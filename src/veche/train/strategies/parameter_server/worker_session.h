#pragma once

#include <deque>
#include <vector>

#include "veche/train/strategies/parameter_server/server_network.h"

namespace veche {

// A worker's exchanges with asynchronous servers, each of which has a part of the vectors. Its
// calls come in the order below. With a codec pushes are codes, whose sender remembers what they
// leave out; answers are codes of how the parameters changed since the last answer, so `pulled`
// must hold that answer.
class WorkerSession {
 public:
  explicit WorkerSession(ServerNetwork& network);
  virtual ~WorkerSession() = default;

  // Before the first exchange; may wait until this worker is not too far ahead.
  virtual void join(std::span<float> pulled, std::uint64_t clock) = 0;
  // Pushes a part to every server and takes their answers. An empty `pushed`: the result was lost.
  // `rate`: learning rate of the steps this node makes itself while a server does not answer.
  virtual void exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                        double rate) = 0;
  virtual void leave() = 0;
  // All workers have left.
  virtual void finish(std::span<float> pulled) = 0;

  // The sum of gradients that no server was sent; empty: none.
  virtual std::vector<float> take_unpushed() { return {}; }
  void add_state(SavedState& state);
  double remembered_squared() const;

 protected:
  void send_up(ServerMessage::Kind kind, std::size_t server, std::uint64_t clock,
               std::span<const float> numbers);
  // Puts an answer, which `from` sent, into the server's part of a whole vector.
  void take(NodeId from, const ServerMessage& answer, std::span<float> whole);

  ServerNetwork& network_;

 private:
  std::deque<CodedStream> pushes_, pulls_;  // by server; empty without a codec
  std::vector<std::uint64_t> versions_;     // by server, of the parameters that this worker has
};

// For servers that stay: waits for every answer. Throws PeerLost.
class BlockingSession : public WorkerSession {
 public:
  using WorkerSession::WorkerSession;
  void join(std::span<float> pulled, std::uint64_t clock) override;
  void exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                double rate) override;
  void leave() override;
  void finish(std::span<float> pulled) override;

 private:
  void await_answers(std::span<float> pulled);
};

// For the grid, where servers come and go: waits for no server for long. Gradients that a server
// was not sent are kept and pushed later as one sum; until then this node makes the steps of that
// part itself.
class GridSession : public WorkerSession {
 public:
  // `unpushed`: gradients kept from the previous view; empty: none.
  GridSession(ServerNetwork& network, std::vector<float> unpushed);

  void join(std::span<float> pulled, std::uint64_t clock) override;
  void exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                double rate) override;
  void leave() override;
  void finish(std::span<float> pulled) override;
  std::vector<float> take_unpushed() override { return std::move(unpushed_); }

 private:
  std::span<float> unpushed_part(std::size_t server) {
    return network_.tree.part(std::span<float>(unpushed_), server);
  }
  void push_kept(std::size_t server, std::uint64_t clock);
  void await_owed(const std::vector<bool>& asked, std::span<float> pulled, double rate, Time deadline);
  void take_answer(NodeId from, const ServerMessage& answer, std::span<float> pulled, double rate);

  std::vector<float> given_;         // the servers' last answers
  std::vector<float> unpushed_;      // sum of gradients
  std::vector<bool> waits_;          // by server: unpushed_ has gradients for it
  std::vector<std::uint64_t> owed_;  // by server: answers that have not come
  std::vector<bool> lost_;           // by node
  Time ended_{0};                    // when the previous exchange ended
  Time usual_wait_{0};
};

}  // namespace veche
