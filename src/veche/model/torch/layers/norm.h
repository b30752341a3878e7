#pragma once

#include "veche/model/torch/layers/layers.h"

namespace veche::torch_model {

struct ChannelScale;

// The norm between a convolution and its activation.
struct NormChoice {
  enum class Kind { batch, group, layer, none };
  Kind kind = Kind::batch;
  int groups = 1;         // for Kind::group
  double epsilon = 1e-5;  // PyTorch's defaults; momentum is for batch norm
  double momentum = 0.1;
};

class Norm : public torch::nn::Module {
 public:
  // Scale 1, shift 0, statistics of unit variance.
  virtual void set_identity() = 0;
  virtual at::Tensor forward(const at::Tensor& x, bool training) = 0;
  // relu(norm(x) + residual); the residual may be undefined.
  virtual at::Tensor relu(const at::Tensor& x, const at::Tensor& residual, bool training);
  // The same applied to conv(x). In an evaluation the result may reuse the residual's memory.
  virtual at::Tensor after(const Conv& conv, const at::Tensor& x, const Pass& pass);
  virtual at::Tensor relu_after(const Conv& conv, const at::Tensor& x, const at::Tensor& residual,
                                const Pass& pass);
  // relu(norm(conv(x))) followed by 2x2 max pooling.
  virtual at::Tensor relu_pool(const Conv& conv, const at::Tensor& x, bool training);
};

// Throws GroupsDoNotFit.
std::shared_ptr<Norm> make_norm(const NormChoice& choice, int channels);
struct GroupsDoNotFit {
  int channels = 0;
};
// Padded so that stride 1 keeps the size. Has a bias unless the norm would cancel it.
std::shared_ptr<Conv> conv_before(const NormChoice& norm, ConvOptions options);

// Fused with the following ReLU.
class BatchNorm : public Norm, public Layer {
 public:
  BatchNorm(int channels, double epsilon, double momentum);
  void set_identity() override;
  at::Tensor forward(const at::Tensor& x, bool training) override;
  at::Tensor relu(const at::Tensor& x, const at::Tensor& residual, bool training) override;
  // Folded into the convolution in an evaluation.
  at::Tensor after(const Conv& conv, const at::Tensor& x, const Pass& pass) override;
  at::Tensor relu_after(const Conv& conv, const at::Tensor& x, const at::Tensor& residual,
                        const Pass& pass) override;
  // In training the norm cancels the convolution's bias, so only the running mean depends on it and
  // its gradient is zero.
  at::Tensor relu_pool(const Conv& conv, const at::Tensor& x, bool training) override;

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;

 private:
  // Mean, inverse deviation, scale and shift of every channel. In training they come from x and
  // update the running statistics. `input_bias`, which may be undefined, is a constant per channel
  // that x does not include yet.
  at::Tensor coefficients(const at::Tensor& x, const at::Tensor& input_bias, bool training);
  ChannelScale stored_scale() const;

  const double epsilon_;
  const float momentum_;
};

// Over the last dimension of x, as in transformers.
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(std::int64_t width, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;

 private:
  const double epsilon_;
};

}  // namespace veche::torch_model
