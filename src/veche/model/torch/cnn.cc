#include "veche/base/errors.h"
#include "veche/model/torch/initialise.h"
#include "veche/model/torch/layers.h"
#include "veche/model/torch/network.h"

namespace veche::torch_model {
namespace {

constexpr int kFirst = 32;  // channels of the two convolutions
constexpr int kSecond = 64;

// The side after: convolution with padding, pool of 2, convolution without padding, pool of 2.
int side(int pixels) { return (pixels / 2 - 2) / 2; }

// Two convolutions with batch norm and pooling, then three linear layers with nothing but dropout between
// them.
class Cnn : public Network {
 public:
  Cnn(const Shape& input, int classes, double dropout)
      : dropout_(dropout),
        conv1_(
            register_module("conv1", std::make_shared<Conv>(ConvOptions{
                                         .in = input.channels, .out = kFirst, .padding = 1, .bias = true}))),
        bn1_(register_module("bn1", std::make_shared<BatchNorm>(kFirst))),
        conv2_(register_module(
            "conv2", std::make_shared<Conv>(ConvOptions{.in = kFirst, .out = kSecond, .bias = true}))),
        bn2_(register_module("bn2", std::make_shared<BatchNorm>(kSecond))),
        fc1_(register_module(
            "fc1",
            std::make_shared<Linear>(std::int64_t{kSecond} * side(input.height) * side(input.width), 600))),
        fc2_(register_module("fc2", std::make_shared<Linear>(600, 120))),
        fc3_(register_module("fc3", std::make_shared<Linear>(120, classes))) {}

  at::Tensor forward(const at::Tensor& images, Pass& pass) override {
    at::Tensor x = bn1_->relu_pool(conv1_->forward(images), conv1_->bias, pass.training);
    x = bn2_->relu_pool(conv2_->forward(x), conv2_->bias, pass.training);
    x = fc1_->forward(x.flatten(1));
    x = torch_model::dropout(x, dropout_, pass);
    return fc3_->forward(fc2_->forward(x));
  }

  void initialise(std::uint64_t seed) override {
    Initialiser init(seed);
    init.uniform(*conv1_);
    init.identity(*bn1_);
    init.uniform(*conv2_);
    init.identity(*bn2_);
    init.uniform(*fc1_);
    init.uniform(*fc2_);
    init.uniform(*fc3_);
  }

 private:
  const double dropout_;
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<BatchNorm> bn1_;
  const std::shared_ptr<Conv> conv2_;
  const std::shared_ptr<BatchNorm> bn2_;
  const std::shared_ptr<Linear> fc1_;
  const std::shared_ptr<Linear> fc2_;
  const std::shared_ptr<Linear> fc3_;
};

}  // namespace

std::shared_ptr<Network> make_cnn(const ModelSpec& spec) {
  if (side(spec.input.height) < 1 || side(spec.input.width) < 1)
    throw RequestError("model.name: 'cnn' needs images of at least 8x8 pixels, the data have " +
                       std::to_string(spec.input.height) + "x" + std::to_string(spec.input.width));
  const double dropout = spec.options.get<double>("dropout", 0.25);
  if (dropout < 0 || dropout >= 1) throw RequestError("model.dropout must be at least 0 and below 1");
  return std::make_shared<Cnn>(spec.input, spec.classes, dropout);
}

}  // namespace veche::torch_model
