#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "veche/driven_learner.h"
#include "veche/optimizer.h"

namespace veche::python {

// What a Python training loop and a node of a run share: the model as flat vectors, and whose turn
// it is. The node computes nothing itself: it waits until the loop has written the gradient, lets
// the strategy and the optimizer work, and hands the parameters back. Owned by both, so the vectors
// outlive the run.
class HandOver {
 public:
  HandOver(std::size_t parameters, std::size_t buffers)
      : parameters_(parameters), gradients_(parameters), buffers_(buffers) {}

  std::span<float> parameters() { return parameters_; }
  std::span<float> gradients() { return gradients_; }
  std::span<float> buffers() { return buffers_; }
  std::vector<TensorLayout> parameter_layout, buffer_layout;

  // The Python loop, without the GIL.
  // The gradient is written: the node may make the step.
  void give(const Score& score);
  // Waits a while until the node is ready for the next gradient. False: the run has ended. Nothing:
  // neither has come yet.
  std::optional<bool> await_node();
  // The same for the end of the run.
  std::optional<bool> await_end();
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
  Score take_score();
  void end();

  // Between two steps; null: the node has none now.
  Channel* channel();
  std::uint64_t steps() const;

 private:
  enum class Turn { node, loop };

  std::vector<float> parameters_, gradients_, buffers_;
  std::atomic<bool> taken_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::node;
  bool finished_ = false, run_ended_ = false;
  bool steps_is_before_ = false;  // the node makes one more step with the gradient that it has
  std::optional<std::string> failure_;
  Score score_;
  Channel* channel_ = nullptr;
  std::uint64_t steps_ = 0;
};

// The learner of such a node.
class LoopLearner : public DrivenLearner {
 public:
  explicit LoopLearner(std::shared_ptr<HandOver> shared) : shared_(std::move(shared)) {}

  std::span<float> parameters() override { return shared_->parameters(); }
  std::span<float> gradients() override { return shared_->gradients(); }
  std::span<float> buffers() override { return shared_->buffers(); }
  Score compute_gradient(const Batch&) override { return shared_->take_score(); }
  Score evaluate(const Batch&) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return shared_->parameter_layout; }
  std::vector<TensorLayout> buffer_layout() const override { return shared_->buffer_layout; }
  void begin(Channel& channel, std::uint64_t step) override { shared_->ready(channel, step); }
  bool next(std::uint64_t step) override { return shared_->next(step); }
  void end() override { shared_->end(); }

 private:
  const std::shared_ptr<HandOver> shared_;
};

}  // namespace veche::python
