#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

constexpr int kFirst = 32;  // channels of the two convolutions
constexpr int kSecond = 64;

// The side after: convolution with padding, 2x2 pool, convolution without padding, 2x2 pool.
int side(int pixels) { return (pixels / 2 - 2) / 2; }

// Two convolutions with norm and pooling, then three linear layers with only dropout between them.
class Cnn : public Network {
 public:
  Cnn(const Shape& input, int classes, const NormChoice& norm, double dropout)
      : dropout_(dropout),
        conv1_(
            register_module("conv1", std::make_shared<Conv>(ConvOptions{
                                         .in = input.channels, .out = kFirst, .padding = 1, .bias = true}))),
        bn1_(register_module("bn1", make_norm(norm, kFirst))),
        conv2_(register_module(
            "conv2", std::make_shared<Conv>(ConvOptions{.in = kFirst, .out = kSecond, .bias = true}))),
        bn2_(register_module("bn2", make_norm(norm, kSecond))),
        fc1_(register_module(
            "fc1",
            std::make_shared<Linear>(std::int64_t{kSecond} * side(input.height) * side(input.width), 600))),
        fc2_(register_module("fc2", std::make_shared<Linear>(600, 120))),
        fc3_(register_module("fc3", std::make_shared<Linear>(120, classes))) {
    link("conv1", {"conv1", "bn1"},
         [this](const at::Tensor& x, Pass& pass) { return bn1_->relu_pool(*conv1_, x, pass.training); });
    link("conv2", {"conv2", "bn2"},
         [this](const at::Tensor& x, Pass& pass) { return bn2_->relu_pool(*conv2_, x, pass.training); });
    link("fc1", {"fc1"}, [this](const at::Tensor& x, Pass& pass) {
      return torch_model::dropout(fc1_->forward(x.flatten(1)), dropout_, pass);
    });
    link("fc2", {"fc2"}, [this](const at::Tensor& x, Pass&) { return fc2_->forward(x); });
    link("fc3", {"fc3"}, [this](const at::Tensor& x, Pass&) { return fc3_->forward(x); });
  }

  void initialise(std::uint64_t seed) override { Initialiser(seed).fill(*this, {}); }

 private:
  const double dropout_;
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<Norm> bn1_;
  const std::shared_ptr<Conv> conv2_;
  const std::shared_ptr<Norm> bn2_;
  const std::shared_ptr<Linear> fc1_;
  const std::shared_ptr<Linear> fc2_;
  const std::shared_ptr<Linear> fc3_;
};

}  // namespace

std::shared_ptr<Network> make_cnn(const ModelSpec& spec) {
  require_pixels(spec, 8);
  return std::make_shared<Cnn>(spec.input, spec.classes, norm_of(spec), dropout_of(spec, 0.25));
}

}  // namespace veche::torch_model
