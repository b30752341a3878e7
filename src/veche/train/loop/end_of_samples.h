#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/channel.h"
#include "veche/driven_learner.h"

namespace veche {

// Nodes whose learners get their samples from outside (DrivenLearner) agree after which step the
// run ends. A node without samples asks all others; a node that still has samples sends nothing. So
// steps cost nothing until the first node runs out. A helper of each node answers, since nodes of
// some strategies are several steps apart.
class EndOfSamples {
 public:
  // Starts the helper.
  EndOfSamples(Endpoint& endpoint, MessagePool& pool, AdaptiveTimeout& timeout);

  // Before each step that this node makes: whether it has samples for it. Answers the nodes that
  // asked about this step.
  void begin(std::uint64_t step, bool has_samples);
  // For a node without samples for this step, after `begin`: whether no node has any. All nodes
  // without samples get the same answer.
  bool all_ended(std::uint64_t step);

 private:
  struct Question {
    std::uint64_t step = 0;
  };
  struct Answer {
    std::uint64_t step = 0;
    bool has_samples = false;
  };
  // What the helper shares with the node; either may end first.
  struct Shared {
    explicit Shared(Channel answering) : answers(std::move(answering)) {}
    // Whether there are samples for this step; nothing if the node has not begun it.
    std::optional<bool> has_samples(std::uint64_t step) const VECHE_REQUIRES(mutex);
    void answer(NodeId asker, std::uint64_t step, bool has) {
      answers.send(asker, answers.pool.copy_of_item(Answer{step, has}));
    }

    struct Waiting {
      NodeId asker;
      std::uint64_t step;
    };
    Channel answers;
    Mutex mutex;
    std::optional<std::uint64_t> begun VECHE_GUARDED_BY(mutex);  // the newest step
    bool begun_with_samples VECHE_GUARDED_BY(mutex) = false;
    std::vector<Waiting> waiting VECHE_GUARDED_BY(mutex);
  };
  static void serve(Shared& shared, Channel& questions);

  Channel questions_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace veche
