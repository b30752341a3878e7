#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// LeCun et al. centred digits of 28 pixels in a field of 32.
int padding(const Shape& input) { return std::min(input.height, input.width) < 32 ? 2 : 0; }

// The side after two 5x5 convolutions, each followed by a 2x2 pool.
int side(int pixels, int padding) { return ((pixels + 2 * padding - 4) / 2 - 4) / 2; }

class LeNet5 : public Network {
 public:
  LeNet5(const Shape& input, int classes)
      : conv1_(register_module(
            "conv1",
            std::make_shared<Conv>(ConvOptions{
                .in = input.channels, .out = 6, .kernel = 5, .padding = padding(input), .bias = true}))),
        conv2_(register_module(
            "conv2", std::make_shared<Conv>(ConvOptions{.in = 6, .out = 16, .kernel = 5, .bias = true}))),
        fc1_(register_module(
            "fc1", std::make_shared<Linear>(
                       16 * side(input.height, padding(input)) * side(input.width, padding(input)), 120))),
        fc2_(register_module("fc2", std::make_shared<Linear>(120, 84))),
        fc3_(register_module("fc3", std::make_shared<Linear>(84, classes))) {
    link("conv1", {"conv1"},
         [this](const at::Tensor& x, Pass&) { return at::max_pool2d(at::relu(conv1_->forward(x)), 2); });
    link("conv2", {"conv2"},
         [this](const at::Tensor& x, Pass&) { return at::max_pool2d(at::relu(conv2_->forward(x)), 2); });
    link("fc1", {"fc1"},
         [this](const at::Tensor& x, Pass&) { return at::relu(fc1_->forward(x.flatten(1))); });
    link("fc2", {"fc2"}, [this](const at::Tensor& x, Pass&) { return at::relu(fc2_->forward(x)); });
    link("fc3", {"fc3"}, [this](const at::Tensor& x, Pass&) { return fc3_->forward(x); });
  }

  void initialise(std::uint64_t seed) override { Initialiser(seed).fill(*this, {}); }

 private:
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<Conv> conv2_;
  const std::shared_ptr<Linear> fc1_;
  const std::shared_ptr<Linear> fc2_;
  const std::shared_ptr<Linear> fc3_;
};

}  // namespace

std::shared_ptr<Network> make_lenet5(const ModelSpec& spec) {
  require_pixels(spec, 12);
  return std::make_shared<LeNet5>(spec.input, spec.classes);
}

}  // namespace veche::torch_model
