#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

at::Tensor max_pool(const at::Tensor& x) { return at::max_pool2d(x, 3, 2, 0, 1, /*ceil_mode=*/true); }

// A squeeze to few channels, then an expansion by two parallel convolutions.
class Fire : public Block {
 public:
  Fire(int in, int squeezed, int expanded)
      : squeeze_(register_module("squeeze", convolution(in, squeezed, 1))),
        expand1x1_(register_module("expand1x1", convolution(squeezed, expanded, 1))),
        expand3x3_(register_module("expand3x3", convolution(squeezed, expanded, 3))) {}

  at::Tensor forward(const at::Tensor& x, Pass&) override {
    const at::Tensor few = at::relu(squeeze_->forward(x));
    return at::relu(at::cat({expand1x1_->forward(few), expand3x3_->forward(few)}, 1));
  }

 private:
  static std::shared_ptr<Conv> convolution(int in, int out, int kernel) {
    return std::make_shared<Conv>(
        ConvOptions{.in = in, .out = out, .kernel = kernel, .padding = kernel / 2, .bias = true});
  }

  const std::shared_ptr<Conv> squeeze_;
  const std::shared_ptr<Conv> expand1x1_;
  const std::shared_ptr<Conv> expand3x3_;
};

struct SqueezePlan {
  int channels, kernel;  // of the first convolution
  int pool2, pool3;      // the fire modules preceded by a pool, besides the first pool
};

class SqueezeNet : public Network {
 public:
  SqueezeNet(const ModelSpec& spec, const SqueezePlan& plan) {
    const bool small = small_stem(spec);
    features_
        ->add(std::make_shared<Conv>(ConvOptions{.in = spec.input.channels,
                                                 .out = plan.channels,
                                                 .kernel = plan.kernel,
                                                 .stride = small ? 1 : 2,
                                                 .padding = small ? plan.kernel / 2 : 0,
                                                 .bias = true}))
        .add(relu)
        .add(max_pool);
    int in = plan.channels;
    for (int fire = 0; fire < 8; ++fire) {
      if (fire == plan.pool2 || fire == plan.pool3) features_->add(max_pool);
      const int squeezed = 16 * (fire / 2 + 1);
      features_->add(std::make_shared<Fire>(in, squeezed, 4 * squeezed));
      in = 8 * squeezed;
    }
    last_ = std::make_shared<Conv>(ConvOptions{.in = in, .out = spec.classes, .kernel = 1, .bias = true});
    classifier_->add_dropout(dropout_of(spec, 0.5)).add(last_).add(relu);
    register_module("features", features_);
    register_module("classifier", classifier_);
    link("features", *features_);
    link("classifier", *classifier_);
    after_last(mean_pixel);
  }

  void initialise(std::uint64_t seed) override {
    Initialiser init(seed);
    init.fill(*this, {.conv = he_uniform, .conv_bias = zeros});
    init.fill(last_->weight, {Draw::Shape::normal, 0.01});
  }

 private:
  const std::shared_ptr<Chain> features_ = std::make_shared<Chain>();
  const std::shared_ptr<Chain> classifier_ = std::make_shared<Chain>();
  std::shared_ptr<Conv> last_;
};

}  // namespace

std::shared_ptr<Network> make_squeezenet1_0(const ModelSpec& spec) {
  require_pixels(spec, small_stem(spec) ? 8 : 21);
  return std::make_shared<SqueezeNet>(spec, SqueezePlan{.channels = 96, .kernel = 7, .pool2 = 3, .pool3 = 7});
}

std::shared_ptr<Network> make_squeezenet1_1(const ModelSpec& spec) {
  require_pixels(spec, small_stem(spec) ? 8 : 17);
  return std::make_shared<SqueezeNet>(spec, SqueezePlan{.channels = 64, .kernel = 3, .pool2 = 2, .pool3 = 4});
}

}  // namespace veche::torch_model
