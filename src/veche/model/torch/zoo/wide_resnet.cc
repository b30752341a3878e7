#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// Norm and ReLU before each convolution; dropout between the two convolutions.
class PreActivated : public torch::nn::Module {
 public:
  PreActivated(int in, int out, int stride, double dropout, const NormChoice& norm)
      : dropout_(dropout),
        bn1_(register_module("bn1", make_norm(norm, in))),
        conv1_(register_module("conv1", conv_before(norm, {.in = in, .out = out, .stride = stride}))),
        bn2_(register_module("bn2", make_norm(norm, out))),
        conv2_(register_module("conv2", conv_before(norm, {.in = out, .out = out}))) {
    if (in != out)
      shortcut_ = register_module("shortcut",
                                  conv_before(norm, {.in = in, .out = out, .kernel = 1, .stride = stride}));
  }

  at::Tensor forward(const at::Tensor& x, Pass& pass) {
    const at::Tensor active = bn1_->relu(x, {}, pass.training);
    at::Tensor y = bn2_->relu_after(*conv1_, active, {}, pass);
    y = conv2_->forward(torch_model::dropout(y, dropout_, pass));
    return y + (shortcut_ ? shortcut_->forward(active) : x);
  }

  Conv& last() { return *conv2_; }

 private:
  const double dropout_;
  const std::shared_ptr<Norm> bn1_;
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<Norm> bn2_;
  const std::shared_ptr<Conv> conv2_;
  std::shared_ptr<Conv> shortcut_;
};

// Zagoruyko and Komodakis: 6 n + 4 layers in three stages of 16, 32 and 64 channels, times the
// width.
class WideResNet : public Network {
 public:
  WideResNet(int channels, int classes, const WideResNetName& name, double dropout, const NormChoice& norm)
      : norm_(norm), conv1_(register_module("conv1", conv_before(norm, {.in = channels, .out = 16}))) {
    link("conv1", {"conv1"}, [this](const at::Tensor& images, Pass&) { return conv1_->forward(images); });
    int in = 16;
    for (int stage = 0; stage < 3; ++stage) {
      const auto layer =
          register_module("layer" + std::to_string(stage + 1), std::make_shared<torch::nn::Module>());
      const int out = (16 << stage) * name.width;
      for (int b = 0; b < (name.depth - 4) / 6; ++b) {
        const int stride = stage > 0 && b == 0 ? 2 : 1;
        blocks_.push_back(layer->register_module(
            std::to_string(b), std::make_shared<PreActivated>(in, out, stride, dropout, norm)));
        link_block("layer" + std::to_string(stage + 1) + "." + std::to_string(b), blocks_.back());
        in = out;
      }
    }
    bn_ = register_module("bn", make_norm(norm, in));
    fc_ = register_module("fc", std::make_shared<Linear>(in, classes));
    link("fc", {"bn", "fc"}, [this](const at::Tensor& x, Pass& pass) {
      return fc_->forward(bn_->relu(x, {}, pass.training).mean({2, 3}));
    });
  }

  void initialise(std::uint64_t seed) override {
    Initialiser init(seed);
    init.fill(*this, {.conv = he_outputs});
    zero_last_convs(blocks_, norm_, init);
  }

 private:
  const NormChoice norm_;
  const std::shared_ptr<Conv> conv1_;
  std::vector<std::shared_ptr<PreActivated>> blocks_;
  std::shared_ptr<Norm> bn_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

std::shared_ptr<Network> make_wide_resnet(const ModelSpec& spec, const WideResNetName& name) {
  require_pixels(spec, 4);
  return std::make_shared<WideResNet>(spec.input.channels, spec.classes, name, dropout_of(spec, 0),
                                      norm_of(spec));
}

}  // namespace veche::torch_model
