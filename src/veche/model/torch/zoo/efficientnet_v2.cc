#include <cmath>

#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// A row of table 4 in Tan and Le, "EfficientNetV2". A fused block has one 3x3 convolution instead
// of a 1x1 and a depthwise one.
struct EfficientRow {
  bool fused;
  int expansion, stride, in, out, blocks;
};

constexpr EfficientRow kRows[] = {
    {true, 1, 1, 24, 24, 2},   {true, 4, 2, 24, 48, 4},    {true, 4, 2, 48, 64, 4},
    {false, 4, 2, 64, 128, 6}, {false, 6, 1, 128, 160, 9}, {false, 6, 2, 160, 256, 15},
};
constexpr int kLast = 1280;

at::Tensor sigmoid(const at::Tensor& x) { return at::sigmoid(x); }

class MBConv : public Block {
 public:
  MBConv(const EfficientRow& row, int in, int stride, double left_out, const NormChoice& norm)
      : residual_(stride == 1 && in == row.out), left_out_(left_out) {
    const int expanded = in * row.expansion;
    if (row.fused && row.expansion == 1) {
      block_->add(conv_norm({.in = in, .out = row.out, .stride = stride}, norm, silu));
    } else if (row.fused) {
      block_->add(conv_norm({.in = in, .out = expanded, .stride = stride}, norm, silu));
      block_->add(conv_norm({.in = expanded, .out = row.out, .kernel = 1}, norm, nullptr));
    } else {
      block_->add(conv_norm({.in = in, .out = expanded, .kernel = 1}, norm, silu));
      block_->add(
          conv_norm({.in = expanded, .out = expanded, .stride = stride, .groups = expanded}, norm, silu));
      block_->add(squeeze_excitation(expanded, in / 4, silu, sigmoid));
      block_->add(conv_norm({.in = expanded, .out = row.out, .kernel = 1}, norm, nullptr));
    }
    register_module("block", block_);
  }

  at::Tensor forward(const at::Tensor& x, Pass& pass) override {
    const at::Tensor y = block_->forward(x, pass);
    return residual_ ? stochastic_depth(y, left_out_, pass) + x : y;
  }

 private:
  const bool residual_;
  const double left_out_;
  const std::shared_ptr<Chain> block_ = std::make_shared<Chain>();
};

class EfficientNetV2 : public Network {
 public:
  EfficientNetV2(const ModelSpec& spec, const NormChoice& norm) {
    features_->add(conv_norm(
        {.in = spec.input.channels, .out = kRows[0].in, .stride = small_stem(spec) ? 1 : 2}, norm, silu));
    int total = 0, block = 0;
    for (const EfficientRow& row : kRows) total += row.blocks;
    const double left_out = stochastic_depth_of(spec, 0.2);
    for (const EfficientRow& row : kRows) {
      const auto stage = std::make_shared<Chain>();
      for (int i = 0; i < row.blocks; ++i)
        stage->add(std::make_shared<MBConv>(row, i == 0 ? row.in : row.out, i == 0 ? row.stride : 1,
                                            left_out * block++ / total, norm));
      features_->add(stage);
    }
    features_->add(conv_norm({.in = std::end(kRows)[-1].out, .out = kLast, .kernel = 1}, norm, silu));
    classifier_->add_dropout(dropout_of(spec, 0.2)).add(std::make_shared<Linear>(kLast, spec.classes));
    register_module("features", features_);
    register_module("classifier", classifier_);
    link("features", *features_);
    before_next(mean_pixel);
    link("classifier", *classifier_);
  }

  void initialise(std::uint64_t seed) override {
    const Rule by_classes = [](const at::Tensor& weight) -> Draw {
      return {Draw::Shape::uniform, 1 / std::sqrt(static_cast<double>(weight.size(0)))};
    };
    Initialiser(seed).fill(
        *this, {.conv = he_outputs, .conv_bias = zeros, .linear = by_classes, .linear_bias = zeros});
  }

 private:
  const std::shared_ptr<Chain> features_ = std::make_shared<Chain>();
  const std::shared_ptr<Chain> classifier_ = std::make_shared<Chain>();
};

}  // namespace

std::shared_ptr<Network> make_efficientnet_v2_s(const ModelSpec& spec) {
  NormChoice norm = norm_of(spec);
  if (norm.kind == NormChoice::Kind::batch) norm.epsilon = 1e-3;
  return std::make_shared<EfficientNetV2>(spec, norm);
}

}  // namespace veche::torch_model
