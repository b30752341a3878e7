#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "veche/model/forwarding_learner.h"

namespace veche {

// The work of a step whose exchange was cut off: enough to repeat the exchange with other nodes,
// from the same model.
struct KeptWork {
  bool there = false;           // there is a gradient
  bool has_samples = false;     // it was computed from samples
  bool stepped = false;         // the optimizer has made its step: `after`
  std::vector<float> gradient;  // as the backward pass left it
  std::vector<float> before;    // parameters before the step, if the strategy may change them
  std::vector<float> after;     // parameters after the optimizer's step
  // How to make the step when the view has ended:
  std::uint64_t samples = 0;                // weight of the gradient in a mean over samples
  double rate = 0;                          // learning rate
  double scale = 0;                         // clipping factor of the whole replica; 0: not known yet
  std::vector<std::vector<float>> moments;  // state of a server's own optimizer before the step
  std::size_t moments_from = 0;             // where the server's part of the model begins

  void forget() { there = stepped = false; }
};

inline void keep(std::vector<float>& copy, std::span<const float> of) { copy.assign(of.begin(), of.end()); }

// The learner that a strategy gets where work is kept. A strategy may change finished parts of the
// gradient while the rest is still computed, so each part is copied before the strategy hears of
// it.
class GradientKeeper : public ForwardingLearner {
 public:
  // Both outlive it.
  GradientKeeper(Learner& learner, std::vector<float>& copy) : ForwardingLearner(learner), copy_(copy) {}

  // Before a pass.
  void begin() {
    copy_.resize(gradients().size());
    copied_.clear();
  }
  // After a pass: copies the parts that were not announced.
  void complete() {
    std::ranges::sort(copied_, {}, &Part::from);
    std::size_t at = 0;
    for (const Part& part : copied_) {
      copy(at, part.from);
      at = std::max(at, part.to);
    }
    copy(at, copy_.size());
  }

  void on_gradient_ready(GradientListener listener) override {
    if (!listener) return ForwardingLearner::on_gradient_ready({});
    ForwardingLearner::on_gradient_ready(
        [this, listener = std::move(listener)](std::size_t from, std::size_t to) {
          copy(from, to);
          copied_.push_back({from, to});
          listener(from, to);
        });
  }

 private:
  struct Part {
    std::size_t from, to;
  };
  void copy(std::size_t from, std::size_t to) {
    if (from < to)
      std::ranges::copy(gradients().subspan(from, to - from),
                        copy_.begin() + static_cast<std::ptrdiff_t>(from));
  }

  std::vector<float>& copy_;
  std::vector<Part> copied_;  // in this pass
};

}  // namespace veche
