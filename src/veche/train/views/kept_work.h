#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "veche/learner.h"

namespace veche {

// What a node has computed in a step whose exchange is not complete: enough to repeat it with others, from
// the model it was computed at.
struct KeptWork {
  bool there = false;           // a gradient is
  bool has_samples = false;     // it is of
  bool stepped = false;         // the optimiser has made its step of it: `after`
  std::vector<float> gradient;  // as the pass left it
  std::vector<float> before;    // the parameters it was taken at; where a strategy may change them
  std::vector<float> after;     // what the optimiser made of them
  // How the step is to be made, for whoever completes it when the view has ended:
  std::uint64_t samples = 0;  // the gradient's weight in a mean over samples
  double rate = 0;
  double scale = 0;                         // by which all stages clip it; 0: not known yet
  std::vector<std::vector<float>> moments;  // of a server's own optimiser, before the step ..
  std::size_t moments_from = 0;             // .. and where its part of the model begins

  void forget() { there = stepped = false; }
};

inline void keep(std::vector<float>& copy, std::span<const float> of) { copy.assign(of.begin(), of.end()); }

// A learner as a strategy sees it that changes parts of the gradient while the rest is computed: each part is
// copied before the strategy hears of it.
class GradientKeeper : public Learner {
 public:
  GradientKeeper(Learner& learner, std::vector<float>& copy) : learner_(learner), copy_(copy) {}

  // Before a pass.
  void begin() {
    copy_.resize(learner_.gradients().size());
    told_.clear();
  }
  // After it: copies what nobody was told of.
  void complete() {
    std::ranges::sort(told_, {}, &Part::from);
    std::size_t at = 0;
    for (const Part& part : told_) {
      copy(at, part.from);
      at = std::max(at, part.to);
    }
    copy(at, copy_.size());
  }

  std::span<float> parameters() override { return learner_.parameters(); }
  std::span<float> gradients() override { return learner_.gradients(); }
  std::span<float> buffers() override { return learner_.buffers(); }
  Score compute_gradient(const Batch& batch) override { return learner_.compute_gradient(batch); }
  void on_gradient_ready(GradientListener listener) override {
    if (!listener) return learner_.on_gradient_ready({});
    learner_.on_gradient_ready([this, listener = std::move(listener)](std::size_t from, std::size_t to) {
      copy(from, to);
      told_.push_back({from, to});
      listener(from, to);
    });
  }
  Score evaluate(const Batch& batch) override { return learner_.evaluate(batch); }
  void rest() override { learner_.rest(); }
  std::vector<TensorLayout> parameter_layout() const override { return learner_.parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return learner_.buffer_layout(); }

 private:
  struct Part {
    std::size_t from, to;
  };
  void copy(std::size_t from, std::size_t to) {
    if (from < to)
      std::ranges::copy(learner_.gradients().subspan(from, to - from),
                        copy_.begin() + static_cast<std::ptrdiff_t>(from));
  }

  Learner& learner_;
  std::vector<float>& copy_;
  std::vector<Part> told_;  // of this pass
};

}  // namespace veche
