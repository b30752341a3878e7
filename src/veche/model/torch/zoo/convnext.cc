#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/layers/placeholder.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr double kLayerScale = 1e-6;
constexpr int kWidths[] = {96, 192, 384, 768};
constexpr int kBlocks[] = {3, 3, 9, 3};

// Over the channels of each pixel: as the last dimension, no data are moved.
at::Tensor normalised(const LayerNorm& norm, const at::Tensor& x) {
  return norm.forward(x.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
}

// A depthwise 7x7 convolution, then a two-layer perceptron per pixel.
class ConvNeXtBlock : public Block {
 public:
  ConvNeXtBlock(int width, double left_out)
      : layer_scale(register_parameter("layer_scale", at::empty({width, 1, 1}))), left_out_(left_out) {
    const auto block = register_module("block", std::make_shared<torch::nn::Module>());
    conv_ = block->register_module(
        "0", std::make_shared<Conv>(ConvOptions{
                 .in = width, .out = width, .kernel = 7, .padding = 3, .groups = width, .bias = true}));
    norm_ = block->register_module("2", std::make_shared<LayerNorm>(width, kEpsilon));
    wide_ = block->register_module("3", std::make_shared<Linear>(width, 4 * width));
    narrow_ = block->register_module("5", std::make_shared<Linear>(4 * width, width));
  }

  at::Tensor forward(const at::Tensor& x, Pass& pass) override {
    at::Tensor y = norm_->forward(conv_->forward(x).permute({0, 2, 3, 1}));
    y = narrow_->forward(at::gelu(wide_->forward(y))).permute({0, 3, 1, 2});
    return stochastic_depth(layer_scale * y, left_out_, pass) + x;
  }

  at::Tensor layer_scale;

 private:
  const double left_out_;
  std::shared_ptr<Conv> conv_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> wide_;
  std::shared_ptr<Linear> narrow_;
};

// The start of a stage: a convolution with non-overlapping windows, and a norm before or after it.
class Patches : public Block {
 public:
  Patches(int in, int out, int size, bool norm_first) : norm_first_(norm_first) {
    const int norm_width = norm_first ? in : out;
    if (norm_first) norm_ = register_module("0", std::make_shared<LayerNorm>(norm_width, kEpsilon));
    conv_ = register_module(norm_first ? "1" : "0",
                            std::make_shared<Conv>(ConvOptions{
                                .in = in, .out = out, .kernel = size, .stride = size, .bias = true}));
    if (!norm_first) norm_ = register_module("1", std::make_shared<LayerNorm>(norm_width, kEpsilon));
  }

  at::Tensor forward(const at::Tensor& x, Pass&) override {
    return norm_first_ ? conv_->forward(normalised(*norm_, x)) : normalised(*norm_, conv_->forward(x));
  }

 private:
  const bool norm_first_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Conv> conv_;
};

// Liu et al., "A ConvNet for the 2020s". The small stem uses patches of 2x2 pixels instead of 4x4.
class ConvNeXt : public Network {
 public:
  explicit ConvNeXt(const ModelSpec& spec) {
    const double left_out = stochastic_depth_of(spec, 0.1);
    features_->add(std::make_shared<Patches>(spec.input.channels, kWidths[0], small_stem(spec) ? 2 : 4,
                                             /*norm_first=*/false));
    int total = 0;
    for (const int blocks : kBlocks) total += blocks;
    for (std::size_t stage = 0; stage < std::size(kWidths); ++stage) {
      if (stage > 0)
        features_->add(std::make_shared<Patches>(kWidths[stage - 1], kWidths[stage], 2, /*norm_first=*/true));
      const auto chain = std::make_shared<Chain>();
      for (int i = 0; i < kBlocks[stage]; ++i) {
        const double probability = left_out * static_cast<double>(blocks_.size()) / (total - 1);
        blocks_.push_back(std::make_shared<ConvNeXtBlock>(kWidths[stage], probability));
        chain->add(blocks_.back());
      }
      features_->add(chain);
    }
    register_module("features", features_);
    const auto classifier = register_module("classifier", std::make_shared<torch::nn::Module>());
    norm_ = classifier->register_module("0", std::make_shared<LayerNorm>(std::end(kWidths)[-1], kEpsilon));
    head_ = classifier->register_module("2", std::make_shared<Linear>(std::end(kWidths)[-1], spec.classes));
    link("features", *features_);
    link("classifier", {"classifier"}, [this](const at::Tensor& x, Pass&) {
      return head_->forward(norm_->forward(x.mean({2, 3})));
    });
  }

  void initialise(std::uint64_t seed) override {
    const Rule fiftieth = [](const at::Tensor&) -> Draw { return {Draw::Shape::normal, 0.02}; };
    Initialiser(seed).fill(*this,
                           {.conv = fiftieth, .conv_bias = zeros, .linear = fiftieth, .linear_bias = zeros});
    at::NoGradGuard guard;
    for (const auto& block : blocks_)
      if (!is_placeholder(block->layer_scale)) block->layer_scale.fill_(kLayerScale);
  }

 private:
  const std::shared_ptr<Chain> features_ = std::make_shared<Chain>();
  std::vector<std::shared_ptr<ConvNeXtBlock>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace

std::shared_ptr<Network> make_convnext_tiny(const ModelSpec& spec) {
  require_pixels(spec, small_stem(spec) ? 16 : 32);
  return std::make_shared<ConvNeXt>(spec);
}

}  // namespace veche::torch_model
