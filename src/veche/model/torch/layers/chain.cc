#include "veche/model/torch/layers/chain.h"

namespace veche::torch_model {
namespace {

class ConvNorm : public Block {
 public:
  ConvNorm(const ConvOptions& conv, const NormChoice& norm, Activation activation)
      : conv_(register_module("0", conv_before(norm, conv))),
        norm_(register_module("1", make_norm(norm, conv.out))),
        activation_(activation) {}

  at::Tensor forward(const at::Tensor& x, Pass& pass) override {
    if (activation_ == relu) return norm_->relu_after(*conv_, x, {}, pass);
    const at::Tensor z = norm_->after(*conv_, x, pass);
    return activation_ == nullptr ? z : activation_(z);
  }

 private:
  const std::shared_ptr<Conv> conv_;
  const std::shared_ptr<Norm> norm_;
  const Activation activation_;
};

class SqueezeExcitation : public Block {
 public:
  SqueezeExcitation(int channels, int squeezed, Activation activation, Activation scale)
      : fc1_(register_module("fc1", std::make_shared<Conv>(ConvOptions{
                                        .in = channels, .out = squeezed, .kernel = 1, .bias = true}))),
        fc2_(register_module("fc2", std::make_shared<Conv>(ConvOptions{
                                        .in = squeezed, .out = channels, .kernel = 1, .bias = true}))),
        activation_(activation),
        scale_(scale) {}

  at::Tensor forward(const at::Tensor& x, Pass&) override {
    const at::Tensor means = x.mean({2, 3}, /*keepdim=*/true);
    return scale_(fc2_->forward(activation_(fc1_->forward(means)))) * x;
  }

 private:
  const std::shared_ptr<Conv> fc1_;
  const std::shared_ptr<Conv> fc2_;
  const Activation activation_;
  const Activation scale_;
};

}  // namespace

at::Tensor relu(const at::Tensor& x) { return at::relu(x); }
at::Tensor hardswish(const at::Tensor& x) { return at::hardswish(x); }
at::Tensor silu(const at::Tensor& x) { return at::silu(x); }

at::Tensor mean_pixel(const at::Tensor& x, Pass& /*pass*/) { return x.mean({2, 3}); }

at::Tensor Chain::forward(const at::Tensor& x, Pass& pass) {
  at::Tensor y = x;
  for (const Part& part : parts_) y = part.forward(y, pass);
  return y;
}

Chain& Chain::add(std::shared_ptr<Block> block) {
  parts_.push_back({{name(block)},
                    [block](const at::Tensor& x, Pass& pass) { return block->forward(x, pass); },
                    std::dynamic_pointer_cast<Chain>(block)});
  return *this;
}

Chain& Chain::add(std::shared_ptr<Conv> conv) {
  parts_.push_back({{name(conv)}, [conv](const at::Tensor& x, Pass&) { return conv->forward(x); }, {}});
  conv_parts_ = parts_.size();
  last_conv_ = conv;
  return *this;
}

Chain& Chain::add(std::shared_ptr<Linear> linear) {
  parts_.push_back({{name(linear)}, [linear](const at::Tensor& x, Pass&) { return linear->forward(x); }, {}});
  return *this;
}

std::shared_ptr<Conv> Chain::take_conv(std::vector<std::string>& names) {
  if (last_conv_ == nullptr || conv_parts_ != parts_.size()) return nullptr;
  names.insert(names.begin(), parts_.back().holds.front());
  parts_.pop_back();
  return std::exchange(last_conv_, nullptr);
}

Chain& Chain::add(std::shared_ptr<Norm> norm) {
  std::vector<std::string> names{name(norm)};
  Step step = [norm](const at::Tensor& x, Pass& pass) { return norm->forward(x, pass.training); };
  if (const auto conv = take_conv(names))
    step = [conv, norm](const at::Tensor& x, Pass& pass) { return norm->after(*conv, x, pass); };
  parts_.push_back({std::move(names), std::move(step), {}});
  return *this;
}

Chain& Chain::add_relu(std::shared_ptr<Norm> norm) {
  std::vector<std::string> names{name(norm)};
  ++next_;
  Step step = [norm](const at::Tensor& x, Pass& pass) { return norm->relu(x, {}, pass.training); };
  if (const auto conv = take_conv(names))
    step = [conv, norm](const at::Tensor& x, Pass& pass) { return norm->relu_after(*conv, x, {}, pass); };
  parts_.push_back({std::move(names), std::move(step), {}});
  return *this;
}

Chain& Chain::add(std::function<at::Tensor(const at::Tensor&)> function) {
  ++next_;
  parts_.push_back(
      {{}, [function = std::move(function)](const at::Tensor& x, Pass&) { return function(x); }, {}});
  return *this;
}

Chain& Chain::add_dropout(double probability) {
  ++next_;
  parts_.push_back(
      {{}, [probability](const at::Tensor& x, Pass& pass) { return dropout(x, probability, pass); }, {}});
  return *this;
}

std::shared_ptr<Block> conv_norm(const ConvOptions& conv, const NormChoice& norm, Activation activation) {
  return std::make_shared<ConvNorm>(conv, norm, activation);
}

std::shared_ptr<Block> squeeze_excitation(int channels, int squeezed, Activation activation,
                                          Activation scale) {
  return std::make_shared<SqueezeExcitation>(channels, squeezed, activation, scale);
}

}  // namespace veche::torch_model
