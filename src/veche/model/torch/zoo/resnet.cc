#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// Two 3x3 convolutions, or for `bottleneck` 1x1, 3x3, 1x1 with `inner` channels; then the sum with
// the shortcut.
class Residual : public Block {
 public:
  Residual(int in, int inner, int out, int stride, bool bottleneck, const NormChoice& norm) {
    if (bottleneck) {
      add(in, inner, 1, 1, norm);
      add(inner, inner, 3, stride, norm);
      add(inner, out, 1, 1, norm);
    } else {
      add(in, inner, 3, stride, norm);
      add(inner, out, 3, 1, norm);
    }
    if (stride == 1 && in == out) return;
    downsample_ = std::make_shared<Chain>();
    downsample_->add(conv_before(norm, {.in = in, .out = out, .kernel = 1, .stride = stride}))
        .add(make_norm(norm, out));
    register_module("downsample", downsample_);
  }

  at::Tensor forward(const at::Tensor& x, Pass& pass) override {
    at::Tensor y = x;
    for (std::size_t i = 0; i + 1 < convs_.size(); ++i) y = norms_[i]->relu_after(*convs_[i], y, {}, pass);
    const at::Tensor beside = downsample_ ? downsample_->forward(x, pass) : x;
    return norms_.back()->relu_after(*convs_.back(), y, beside, pass);
  }

  Conv& last() { return *convs_.back(); }

 private:
  void add(int in, int out, int kernel, int stride, const NormChoice& norm) {
    const std::string number = std::to_string(convs_.size() + 1);
    convs_.push_back(register_module(
        "conv" + number, conv_before(norm, {.in = in, .out = out, .kernel = kernel, .stride = stride})));
    norms_.push_back(register_module("bn" + number, make_norm(norm, out)));
  }

  std::vector<std::shared_ptr<Conv>> convs_;
  std::vector<std::shared_ptr<Norm>> norms_;
  std::shared_ptr<Chain> downsample_;
};

struct Plan {
  std::vector<int> blocks;  // per stage
  bool bottleneck;
};

Plan plan_of(int depth) {
  if (depth == 18) return {{2, 2, 2, 2}, false};
  return {{3, 4, 6, 3}, depth == 50};
}

// torchvision's residual networks. The small stem is the usual one for CIFAR: 3x3, without stride
// or pool.
class ResNet : public Network {
 public:
  ResNet(int channels, int classes, const Plan& plan, int width, bool small, const NormChoice& norm)
      : norm_(norm),
        small_(small),
        conv1_(register_module(
            "conv1",
            conv_before(norm,
                        {.in = channels, .out = 64, .kernel = small ? 3 : 7, .stride = small ? 1 : 2}))),
        bn1_(register_module("bn1", make_norm(norm, 64))) {
    link("conv1", {"conv1", "bn1"}, [this](const at::Tensor& images, Pass& pass) {
      const at::Tensor x = bn1_->relu_after(*conv1_, images, {}, pass);
      return small_ ? x : at::max_pool2d(x, 3, 2, 1);
    });
    int in = 64;
    for (int stage = 0; stage < 4; ++stage) {
      const auto layer =
          register_module("layer" + std::to_string(stage + 1), std::make_shared<torch::nn::Module>());
      const int planes = 64 << stage, out = plan.bottleneck ? 4 * planes : planes;
      for (int b = 0; b < plan.blocks[static_cast<std::size_t>(stage)]; ++b) {
        const int stride = stage > 0 && b == 0 ? 2 : 1;
        blocks_.push_back(layer->register_module(
            std::to_string(b),
            std::make_shared<Residual>(in, planes * width, out, stride, plan.bottleneck, norm)));
        link_block("layer" + std::to_string(stage + 1) + "." + std::to_string(b), blocks_.back());
        in = out;
      }
    }
    fc_ = register_module("fc", std::make_shared<Linear>(in, classes));
    link("fc", {"fc"}, [this](const at::Tensor& x, Pass&) { return fc_->forward(x.mean({2, 3})); });
  }

  void initialise(std::uint64_t seed) override {
    Initialiser init(seed);
    init.fill(*this, {.conv = he_outputs});
    zero_last_convs(blocks_, norm_, init);
  }

 private:
  const NormChoice norm_;
  const bool small_;
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<Norm> bn1_;
  std::vector<std::shared_ptr<Residual>> blocks_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

std::shared_ptr<Network> make_resnet(const ModelSpec& spec, int depth, int width) {
  require_pixels(spec, 4);
  return std::make_shared<ResNet>(spec.input.channels, spec.classes, plan_of(depth), width, small_stem(spec),
                                  norm_of(spec));
}

}  // namespace veche::torch_model
