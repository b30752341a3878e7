#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "extension/buffers.h"
#include "veche/driven_learner.h"
#include "veche/optimizer.h"

namespace veche::python {

// What a Python training loop and a node of a run share: the model as flat vectors, and whose turn
// it is. The node computes nothing itself: it waits until the loop has written the gradient, lets
// the strategy work, asks the waiting loop for the step of its optimizer, and hands the parameters
// back. Owned by both, so the vectors outlive the run.
class HandOver {
 public:
  HandOver(std::size_t parameters, std::size_t buffers)
      : parameters_(parameters), gradients_(parameters), buffers_(buffers) {}

  std::span<float> parameters() { return parameters_; }
  std::span<float> gradients() { return gradients_; }
  std::span<float> buffers() { return buffers_; }
  std::vector<TensorLayout> parameter_layout, buffer_layout;
  Buffers follow = Buffers::own;
  int optimizers = 1;  // of the loop, which step in turn

  // The Python loop, without the GIL where it waits.
  // A call for the node is near: it wakes up before.
  void announce();
  // Part [from, to) of the gradient is final: the node may begin the step with it. Parts of a step
  // do not overlap.
  void report(std::size_t from, std::size_t to);
  // Whether the strategy uses parts before the whole is there.
  bool listens() const;
  // Whether the node is in a step that `report` began.
  bool step_has_begun() const;
  // The gradient is written: the node may make the step, with the optimizer of that number.
  void give(const Score& score, int optimizer);
  enum class Event {
    none,       // nothing came for a while
    work,       // the node asks for `do_work`
    next_step,  // the node is ready for the next gradient
    run_ended
  };
  // Waits a while for the node, or only for the end of the run.
  Event wait_for_node(bool only_end = false);
  // With the GIL: what the node waits for.
  void do_work();
  // There are no more gradients.
  void finish();
  // The loop has failed: so does the run, with this sentence.
  void fail(std::string why);
  // Called by whoever waits for the run: nothing will come from the node any more.
  void run_ended();

  // The node.
  // Whether this is the first node made of it.
  bool take_node() { return !taken_.exchange(true); }
  void ready(Channel& channel, std::uint64_t step);
  bool next(std::uint64_t step);
  void on_gradient_ready(GradientListener listener);
  // Learns which optimizer makes this step: that of the nodes with a gradient. Collective.
  void agree_on_optimizer(Channel& channel, bool active);
  // Waits until the gradient is whole, which `next` does unless parts are reported.
  Score complete_gradient();
  void end();
  // Any thread of the run: lets the loop do this if it waits for the node, so that Python code runs
  // on Python's own thread. Returns whether it did; throws what the work throws.
  bool do_in_loop(const std::function<void()>& work);

  // Between two steps; null: the node has none now.
  Channel* channel();
  std::uint64_t steps() const;
  int optimizer() const;

 private:
  enum class Turn { node, loop };
  using Clock = std::chrono::steady_clock;

  // `is_short`: whether the last wait of this kind was.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, bool& is_short, Ready ready, Clock::time_point until);
  template <class Ready>
  void poll_and_sleep(std::unique_lock<std::mutex>& lock, std::chrono::microseconds polling, Ready ready,
                      Clock::time_point until);
  void notify(std::unique_lock<std::mutex>& lock);
  void clear_unreported();

  std::vector<float> parameters_, gradients_, buffers_;
  std::atomic<bool> taken_ = false;
  std::atomic<std::uint64_t> changes_ = 0;  // counted with the lock, polled without
  std::condition_variable changed_;
  // Guards all fields below, except listener_. A plain std::mutex: the one that clang checks
  // (base/thread/mutex.h) is no public header, and the extension is built on public ones alone.
  mutable std::mutex mutex_;
  Turn turn_ = Turn::node;
  bool finished_ = false, run_ended_ = false;
  bool steps_is_before_ = false;  // the node makes one more step with the gradient that it has
  std::optional<std::string> failure_;
  Score score_;
  int optimizer_ = 0;  // that makes the step under way
  Channel* channel_ = nullptr;
  std::uint64_t steps_ = 0;

  struct Work {
    const std::function<void()>& call;
    bool done = false;
    std::exception_ptr error = nullptr;
  };
  Work* work_ = nullptr;  // for the loop; null: none
  bool loop_waits_ = false;
  bool node_is_quick_ = false, work_is_quick_ = false, gradient_is_quick_ = false;

  struct Part {
    std::size_t from, to;
  };
  std::vector<Part> reported_;  // in this step
  std::size_t noticed_ = 0;     // of them, when the node was last woken
  std::size_t since_notice_ = 0, reported_floats_ = 0;
  bool begun_ = false;  // the node makes a step with parts
  bool listens_ = false;
  GradientListener listener_;  // called by the node alone
};

// The learner of such a node.
class LoopLearner : public DrivenLearner {
 public:
  explicit LoopLearner(std::shared_ptr<HandOver> shared) : shared_(std::move(shared)) {}

  std::span<float> parameters() override { return shared_->parameters(); }
  std::span<float> gradients() override { return shared_->gradients(); }
  std::span<float> buffers() override { return shared_->buffers(); }
  Score compute_gradient(const Batch&) override { return shared_->complete_gradient(); }
  void on_gradient_ready(GradientListener listener) override {
    shared_->on_gradient_ready(std::move(listener));
  }
  Score evaluate(const Batch&) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return shared_->parameter_layout; }
  std::vector<TensorLayout> buffer_layout() const override { return shared_->buffer_layout; }
  void begin(Channel& channel, std::uint64_t step) override { shared_->ready(channel, step); }
  bool exchanges() const override {
    return takes_turns() || (shared_->follow != Buffers::own && !shared_->buffers().empty());
  }
  bool takes_turns() const override { return shared_->optimizers > 1; }
  void exchange(Channel& channel, bool active) override {
    if (takes_turns()) shared_->agree_on_optimizer(channel, active);
    exchange_buffers(channel, shared_->buffers(), shared_->follow, active);
  }
  bool next(std::uint64_t step) override { return shared_->next(step); }
  void end() override { shared_->end(); }

 private:
  const std::shared_ptr<HandOver> shared_;
};

}  // namespace veche::python
