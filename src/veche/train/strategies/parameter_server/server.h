#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "veche/staleness.h"
#include "veche/train/strategies/parameter_server/server_message.h"
#include "veche/train/strategies/parameter_server/server_policy.h"

namespace veche {

// How a server changes its part of the parameters by a push.
class ServerRule {
 public:
  virtual ~ServerRule() = default;
  // `staleness`: updates made since the worker got its parameters, which were `seen` (empty: not
  // kept). `update`: updates made before this one.
  virtual void apply(std::span<float> parameters, std::span<const float> pushed, std::uint64_t staleness,
                     std::span<const float> seen, std::uint64_t update) = 0;
  // Whether a worker is answered with the parameters from before its push.
  virtual bool answers_first() const { return false; }
  virtual std::vector<std::span<float>> state() { return {}; }
};

// One part of the parameters and the workers that push to it. Knows nothing of channels and
// threads: takes messages, gives answers.
class Server {
 public:
  // Called with the workers to answer and the parameters for them.
  using Answer =
      std::function<void(std::span<const ServerMessage::Party> parties, std::span<const float> numbers)>;

  Server(std::span<const float> start, std::vector<bool> trainers, ServerPolicy policy,
         std::unique_ptr<ServerRule> rule, Answer answer);

  void take(const ServerMessage& message);

  std::span<float> parameters() { return parameters_; }
  bool holds_answers() const { return !held_.empty(); }  // until other workers have pushed
  SavedState state();
  const Staleness& staleness() const { return staleness_; }

 private:
  struct Worker {
    bool trains = false;  // still
    std::optional<std::uint64_t> clock;
    std::vector<float> seen;  // kept for delay compensation only
  };

  void push(const ServerMessage& message);
  void gather(const ServerMessage& message);
  void update_from_sum();
  void answer_those_allowed();
  void answer(std::span<ServerMessage::Party> parties);
  std::optional<std::uint64_t> slowest() const;  // none until all workers have joined
  std::size_t trainers() const;
  // Updates made since. A worker that goes on from a checkpoint may know of more than the server
  // was saved with.
  std::uint64_t age(const ServerMessage::Party& party) const {
    return version_ - std::min(version_, party.version);
  }

  std::vector<float> parameters_;
  std::vector<Worker> workers_;
  const ServerPolicy policy_;
  const std::unique_ptr<ServerRule> rule_;
  const Answer answer_;
  std::uint64_t version_ = 0;  // updates made
  std::vector<ServerMessage::Party> held_;
  std::vector<float> sum_;    // of the gradients of one update
  std::uint64_t summed_ = 0;  // how many gradients
  Staleness staleness_;
};

}  // namespace veche
