#include "veche/model/torch/layers/norm.h"

namespace veche::torch_model {
namespace {

// Statistics per sample over groups of channels and all pixels. One group is the layer norm of
// convolutional networks.
class GroupNorm : public Norm {
 public:
  GroupNorm(int channels, int groups, double epsilon) : groups_(groups), epsilon_(epsilon) {
    if (channels % groups != 0) throw GroupsDoNotFit{channels};
    weight_ = register_parameter("weight", at::empty({channels}));
    bias_ = register_parameter("bias", at::empty({channels}));
  }
  void set_identity() override {
    weight_.fill_(1);
    bias_.zero_();
  }
  at::Tensor forward(const at::Tensor& x, bool) override {
    return at::group_norm(x, groups_, weight_, bias_, epsilon_);
  }

 private:
  const std::int64_t groups_;
  const double epsilon_;
  at::Tensor weight_;
  at::Tensor bias_;
};

class NoNorm : public Norm {
 public:
  void set_identity() override {}
  at::Tensor forward(const at::Tensor& x, bool) override { return x; }
};

}  // namespace

at::Tensor Norm::relu(const at::Tensor& x, const at::Tensor& residual, bool training) {
  const at::Tensor y = forward(x, training);
  return at::relu(residual.defined() ? y + residual : y);
}

at::Tensor Norm::after(const Conv& conv, const at::Tensor& x, const Pass& pass) {
  return forward(conv.forward(x), pass.training);
}

at::Tensor Norm::relu_after(const Conv& conv, const at::Tensor& x, const at::Tensor& residual,
                            const Pass& pass) {
  return relu(conv.forward(x), residual, pass.training);
}

at::Tensor Norm::relu_pool(const Conv& conv, const at::Tensor& x, bool training) {
  return at::max_pool2d(relu(conv.forward(x), {}, training), 2);
}

std::shared_ptr<Norm> make_norm(const NormChoice& choice, int channels) {
  switch (choice.kind) {
    case NormChoice::Kind::batch:
      return std::make_shared<BatchNorm>(channels, choice.epsilon, choice.momentum);
    case NormChoice::Kind::group:
      return std::make_shared<GroupNorm>(channels, choice.groups, choice.epsilon);
    case NormChoice::Kind::layer:
      return std::make_shared<GroupNorm>(channels, 1, choice.epsilon);
    case NormChoice::Kind::none:
      return std::make_shared<NoNorm>();
  }
  return nullptr;
}

std::shared_ptr<Conv> conv_before(const NormChoice& norm, ConvOptions options) {
  options.padding = options.kernel / 2;
  options.bias = norm.kind == NormChoice::Kind::none;
  return std::make_shared<Conv>(options);
}

LayerNorm::LayerNorm(std::int64_t width, double epsilon)
    : weight(register_parameter("weight", at::empty({width}))),
      bias(register_parameter("bias", at::empty({width}))),
      epsilon_(epsilon) {}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, epsilon_);
}

}  // namespace veche::torch_model
