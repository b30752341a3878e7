#pragma once

#include "veche/base/thread/mutex.h"
#include "veche/model/torch/layers/gradient_report.h"
#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// Base of the hand-written modules. They write the gradients of their parameters directly into
// parameter.grad(), which must exist, overwriting it, and then report it: every parameter belongs
// to one layer that is used once per pass. Without a report, as on a device, they use libtorch's
// plain operations and leave gradients to autograd.
class Layer {
 public:
  virtual ~Layer() = default;

  const GradientReport* report = nullptr;  // outlives every pass
  bool by_itself() const { return report != nullptr; }

 protected:
  // For the backward pass, where autograd provides only tensors and numbers.
  std::int64_t report_address() const { return reinterpret_cast<std::int64_t>(report); }
};
const GradientReport& report_at(const c10::IValue& address);

// The layout of image layers: the channels of a pixel are adjacent.
inline at::Tensor channels_last(const at::Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

struct ConvOptions {
  int in = 0;
  int out = 0;
  int kernel = 3;
  int stride = 1;
  int padding = 0;
  int groups = 1;
  bool bias = false;

  bool operator==(const ConvOptions&) const = default;
};

class ConvPlan;
class ConvPlans;

class Conv : public torch::nn::Module, public Layer {
 public:
  explicit Conv(const ConvOptions& options);
  ~Conv() override;
  at::Tensor forward(const at::Tensor& x) const;
  // For a following batch norm that handles the bias itself, including its gradient.
  at::Tensor forward_without_bias(const at::Tensor& x) const;
  const ConvOptions& options() const { return options_; }
  // Drops cached data derived from parameters that have changed.
  void forget();

  at::Tensor weight;
  at::Tensor bias;                   // undefined if there is none
  std::shared_ptr<ConvPlans> plans;  // shared with other learners; null: its own

 private:
  struct Function;
  // Cached data for images of one size. If parameters_fixed, includes the weights in the layouts of
  // the forward and backward passes.
  struct Ready {
    std::shared_ptr<ConvPlan> plan;
    at::Tensor forth, back;
  };
  std::shared_ptr<Ready> ready(const at::Tensor& x, bool with_bias) const;
  at::Tensor* kept(at::Tensor& order) const { return report->parameters_fixed ? &order : nullptr; }

  const ConvOptions options_;
  mutable Mutex used_mutex_;  // an evaluation may have several threads
  // One per batch size seen.
  mutable std::vector<std::shared_ptr<Ready>> used_ VECHE_GUARDED_BY(used_mutex_);
};

// Applies to the last dimension of x.
class Linear : public torch::nn::Module, public Layer {
 public:
  Linear(std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;
};

// Zeroes each value with this probability and scales the others up; identity outside training.
at::Tensor dropout(const at::Tensor& x, double probability, Pass& pass);
// Stochastic depth: drops whole samples of a residual branch.
at::Tensor stochastic_depth(const at::Tensor& branch, double probability, Pass& pass);

}  // namespace veche::torch_model
