#pragma once

#include <mutex>

#include "veche/model/torch/layers/gradient_report.h"
#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// What the hand-written modules have in common: they write the gradients of their parameters straight into
// parameter.grad(), which must be there, and overwrite what it held: every parameter belongs to one layer
// that is used once in a pass. Then they report it. Without a report, as on a device, they are libtorch's
// plain operations and leave their gradients to autograd.
class Layer {
 public:
  virtual ~Layer() = default;

  const GradientReport* report = nullptr;  // outlives every pass
  bool by_itself() const { return report != nullptr; }

 protected:
  // For the backward pass, which has no layer: what autograd keeps for it are tensors and numbers.
  std::int64_t report_address() const { return reinterpret_cast<std::int64_t>(report); }
};
const GradientReport& report_at(const c10::IValue& address);

// As the layers of images want them: the channels of a pixel side by side.
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
  // For a batch norm behind that sees to the bias itself, its gradient included.
  at::Tensor forward_without_bias(const at::Tensor& x) const;
  const ConvOptions& options() const { return options_; }
  // What was made of parameters that have changed since.
  void forget();

  at::Tensor weight;
  at::Tensor bias;                   // undefined without one
  std::shared_ptr<ConvPlans> plans;  // where others have theirs; none yet: its own

 private:
  struct Function;
  // For images of one size. The weights are in the orders that passes forth and back want, where they rest.
  struct Ready {
    std::shared_ptr<ConvPlan> plan;
    at::Tensor forth, back;
  };
  std::shared_ptr<Ready> ready(const at::Tensor& x, bool with_bias) const;
  at::Tensor* kept(at::Tensor& order) const { return report->parameters_rest ? &order : nullptr; }

  const ConvOptions options_;
  mutable std::mutex used_mutex_;                     // an evaluation may have several threads
  mutable std::vector<std::shared_ptr<Ready>> used_;  // one per size of batch seen; guarded by used_mutex_
};

// Of the last dimension of x, whatever the others.
class Linear : public torch::nn::Module, public Layer {
 public:
  Linear(std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;
};

// Zeroes each number with this probability and scales the others up; nothing outside training.
at::Tensor dropout(const at::Tensor& x, double probability, Pass& pass);
// The same for whole samples: the branch of a residual network that is left out.
at::Tensor stochastic_depth(const at::Tensor& branch, double probability, Pass& pass);

}  // namespace veche::torch_model
