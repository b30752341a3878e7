#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

std::shared_ptr<Conv> pointwise(int in, int out) {
  return std::make_shared<Conv>(ConvOptions{.in = in, .out = out, .kernel = 1});
}

std::shared_ptr<Conv> depthwise(int channels, int stride) {
  return std::make_shared<Conv>(
      ConvOptions{.in = channels, .out = channels, .stride = stride, .padding = 1, .groups = channels});
}

// Interleaves the channels of the two halves; for channels-last images.
at::Tensor shuffled(const at::Tensor& x) {
  const at::Tensor pixels = x.permute({0, 2, 3, 1});
  const auto n = pixels.size(0), h = pixels.size(1), w = pixels.size(2), c = pixels.size(3);
  return pixels.reshape({n, h, w, 2, c / 2}).transpose(3, 4).reshape({n, h, w, c}).permute({0, 3, 1, 2});
}

class Unit : public Block {
 public:
  Unit(int in, int out, int stride, const NormChoice& norm) : halves_(stride == 1) {
    const int half = out / 2;
    if (!halves_) {
      branch1_ = std::make_shared<Chain>();
      branch1_->add(depthwise(in, stride)).add(make_norm(norm, in));
      branch1_->add(pointwise(in, half)).add_relu(make_norm(norm, half));
      register_module("branch1", branch1_);
    }
    branch2_->add(pointwise(halves_ ? half : in, half)).add_relu(make_norm(norm, half));
    branch2_->add(depthwise(half, stride)).add(make_norm(norm, half));
    branch2_->add(pointwise(half, half)).add_relu(make_norm(norm, half));
    register_module("branch2", branch2_);
  }

  at::Tensor forward(const at::Tensor& x, Pass& pass) override {
    if (!halves_) return shuffled(at::cat({branch1_->forward(x, pass), branch2_->forward(x, pass)}, 1));
    const std::vector<at::Tensor> parts = x.chunk(2, 1);
    const at::Tensor worked = branch2_->forward(parts[1].contiguous(at::MemoryFormat::ChannelsLast), pass);
    return shuffled(at::cat({parts[0], worked}, 1));
  }

 private:
  const bool halves_;  // one half of the channels passes through unchanged
  std::shared_ptr<Chain> branch1_;
  const std::shared_ptr<Chain> branch2_ = std::make_shared<Chain>();
};

class ShuffleNetV2 : public Network {
 public:
  ShuffleNetV2(const ModelSpec& spec, const NormChoice& norm) : small_(small_stem(spec)) {
    constexpr int kRepeats[] = {4, 8, 4};
    constexpr int kChannels[] = {116, 232, 464};
    int in = 24;
    conv1_
        ->add(std::make_shared<Conv>(
            ConvOptions{.in = spec.input.channels, .out = in, .stride = small_ ? 1 : 2, .padding = 1}))
        .add_relu(make_norm(norm, in));
    register_module("conv1", conv1_);
    for (std::size_t stage = 0; stage < 3; ++stage) {
      auto units = std::make_shared<Chain>();
      for (int i = 0; i < kRepeats[stage]; ++i) {
        units->add(std::make_shared<Unit>(in, kChannels[stage], i == 0 ? 2 : 1, norm));
        in = kChannels[stage];
      }
      stages_.push_back(register_module("stage" + std::to_string(stage + 2), units));
    }
    conv5_->add(pointwise(in, 1024)).add_relu(make_norm(norm, 1024));
    register_module("conv5", conv5_);
    fc_ = register_module("fc", std::make_shared<Linear>(1024, spec.classes));
    link("conv1", *conv1_);
    if (!small_) after_last([](const at::Tensor& x, Pass&) { return at::max_pool2d(x, 3, 2, 1); });
    for (std::size_t i = 0; i < stages_.size(); ++i) link("stage" + std::to_string(i + 2), *stages_[i]);
    link("conv5", *conv5_);
    link("fc", {"fc"}, [this](const at::Tensor& x, Pass&) { return fc_->forward(x.mean({2, 3})); });
  }

  void initialise(std::uint64_t seed) override { Initialiser(seed).fill(*this, {}); }

 private:
  const bool small_;
  const std::shared_ptr<Chain> conv1_ = std::make_shared<Chain>();
  std::vector<std::shared_ptr<Chain>> stages_;
  const std::shared_ptr<Chain> conv5_ = std::make_shared<Chain>();
  std::shared_ptr<Linear> fc_;
};

}  // namespace

std::shared_ptr<Network> make_shufflenet_v2_x1_0(const ModelSpec& spec) {
  return std::make_shared<ShuffleNetV2>(spec, norm_of(spec));
}

}  // namespace veche::torch_model
