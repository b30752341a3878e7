#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "veche/endpoint.h"
#include "veche/train/views/state_pieces.h"

namespace veche {

// What is the same on all nodes between two steps, so that a newcomer must have it too.
enum class Shared {
  nothing,  // each has a model of its own
  common,   // so it is, but for what a strategy has in common, such as an outer optimiser
  models,   // all of the model
};
Shared shared_by(const StrategyInfo& strategy, const Options& options);

// How those who share something got from one step to the next: enough to go the same way, to the bit.
struct StepMade {
  enum class By : std::uint64_t {
    gradient,  // the optimiser's step of the mean, which coded_gradient has made `bytes`
    result,    // as parameters and what is common are then: others made the step, or all together
    nothing,   // what is shared has not changed
  } by = By::gradient;
  std::uint64_t step = 0;   // that was done before
  std::uint64_t steps = 1;  // of those that change nothing: so many in a row
  double rate = 0, scale = 1;
  std::vector<std::byte> bytes = {};
};

// As it is, or where most of it is zero, as a codec leaves it, the rest and where that is.
std::vector<std::byte> coded_gradient(std::span<const float> gradient);
// Puts what a node shares with the others where that step has brought it; false: it is damaged, or of another
// model.
bool repeat_step(NodeSelf& self, const StepMade& made);

// What a node lends to newcomers while it trains on: its state between two steps, copied when somebody has
// asked for it, and after that the steps that change what all share. Nothing is kept while nobody asks. The
// node's thread tells what happens, any thread gives.
class StateLending {
 public:
  static constexpr std::uint64_t kMostKept = 512U << 20;  // bytes of gradients
  static constexpr Time kForgets{20};                     // after so long without a question
  static constexpr Time kFresh{10};                       // a copy whose steps are not kept, for the next one

  // The node's thread:
  // Whether a copy is due now that so many steps are done; `take` it then.
  bool due(std::uint64_t step, Time now);
  void take(NodeSelf& self);
  // Whether somebody may follow, and the step to keep: as it was made, or by what has become of the node.
  bool follows() const { return follows_; }
  void made(std::uint64_t step, std::span<const float> gradient, double rate, double scale);
  void made(NodeSelf& self, bool changed);
  // The state is not what the steps have made of it any more.
  void clear();
  // The run has ended: the state of this node is the last one, and `word` tells how it was (end_word.h).
  // A node with a part of the model only does not lend it.
  void end(NodeSelf& self, Message word, bool whole);

  // Any thread. Nothing: it is not here, and will not be; of no bytes: not yet. The names:
  //   step          how far the node is: StepWord
  //   end           how the run has ended; of no bytes until it has
  //   copy/S        asks for a copy at step S, and says whether there will be one
  //   manifest/S    its step, lengths and hashes
  //   piece/S/I     of the copy
  //   update/T      how step T was made: UpdateWord
  //   gradient/T    its bytes, from an offset on
  std::optional<Message> give(const std::string& name, std::uint64_t offset, std::uint32_t length);
  std::shared_ptr<const StepMade> step_made(std::uint64_t step) const;

  struct StepWord {
    std::uint64_t step = 0;
    std::uint64_t copy = kNone;  // there is one already that is good enough
    double seconds = 0;          // that a step takes
  };
  struct UpdateWord {
    StepMade::By by = StepMade::By::gradient;
    std::uint64_t steps = 1;
    double rate = 0, scale = 1;
    std::uint64_t bytes = 0, hash = 0;
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

 private:
  struct Copy {
    std::uint64_t name = kNone, step = 0;
    std::vector<std::vector<float>> vectors;
  };
  std::optional<Message> give_copy(const std::string& what, std::uint64_t number, std::uint64_t piece);
  std::optional<Message> give_step(const std::string& what, std::uint64_t step, std::uint64_t offset,
                                   std::uint32_t length);
  void keep(std::shared_ptr<const StepMade> one);
  void forget_all();         // with the lock, as
  bool good_enough() const;  // is the copy for somebody who asks now

  std::atomic<bool> asked_ = false, follows_ = false;
  std::atomic<std::uint64_t> wanted_ = kNone;  // a copy at this step
  Time last_asked_{0};                         // the node's thread's
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  bool trains_ = false;  // it has begun
  std::uint64_t step_ = 0;
  double seconds_ = 0;
  Time last_step_{0}, copied_{0};
  std::optional<Message> end_;
  std::shared_ptr<const Copy> copy_;
  std::deque<std::shared_ptr<const StepMade>> steps_;
  std::uint64_t kept_ = 0;  // bytes
  MessagePool pool_;
};

}  // namespace veche
