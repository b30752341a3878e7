#pragma once

#include <memory>

#include "veche/model/torch/layers/layers.h"
#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// A linear layer whose weights lie (in, out), as in the published GPT-2.
class Projection : public torch::nn::Module, public Layer {
 public:
  Projection(std::int64_t in, std::int64_t out, bool with_bias);
  at::Tensor forward(const at::Tensor& x) const;  // by libtorch's own operations
  // Of whole rows: y = x w + bias, or y += x w + bias.
  void apply(const at::Tensor& x, const at::Tensor& y, bool add) const;
  at::Tensor input_gradient(const at::Tensor& dy) const;
  // Writes the gradients of the parameters. Does not report them.
  void parameter_gradients(const at::Tensor& x, const at::Tensor& dy) const;
  void report_final() const;

  at::Tensor weight;
  at::Tensor bias;  // undefined if there is none
};

// A layer norm over each token, with or without a bias.
class TokenNorm : public torch::nn::Module, public Layer {
 public:
  static constexpr double kEpsilon = 1e-5;

  TokenNorm(std::int64_t width, bool with_bias);
  at::Tensor forward(const at::Tensor& x) const;

  struct Normal {
    at::Tensor y, mean, scale;
  };
  Normal apply(const at::Tensor& x) const;
  // The gradient of x, plus `around` if that is defined. Writes the gradients of the parameters.
  at::Tensor gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean,
                       const at::Tensor& scale, const at::Tensor& around) const;
  void report_final() const;

  at::Tensor weight;
  at::Tensor bias;  // undefined if there is none

 private:
  struct Function;
};

struct GptBlockOptions {
  std::int64_t width = 0;
  std::int64_t heads = 0;
  bool bias = false;
  double dropout = 0;
};

// A block of a GPT: x + attention(norm(x)), then x + mlp(norm(x)), over tokens (N, length, width).
// Each half is one autograd function.
class GptBlock : public torch::nn::Module {
 public:
  explicit GptBlock(const GptBlockOptions& options);
  at::Tensor forward(const at::Tensor& x, Pass& pass) const;

  const GptBlockOptions options;
  std::shared_ptr<TokenNorm> ln_1, ln_2;
  std::shared_ptr<Projection> qkv, out;  // attn.c_attn, attn.c_proj
  std::shared_ptr<Projection> up, down;  // mlp.c_fc, mlp.c_proj

 private:
  struct AttentionHalf;
  struct MlpHalf;
  at::Tensor plain_attention(const at::Tensor& x, Pass& pass) const;
  // x + branch, or with dropout x + dropout(branch).
  template <class Half>
  at::Tensor fused(const at::Tensor& x, const at::Tensor& parameter, Pass& pass) const;
};

}  // namespace veche::torch_model
