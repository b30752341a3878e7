#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// A row of the tables in Howard et al., "Searching for MobileNetV3".
struct MobileRow {
  int in, kernel, expanded, out;
  bool squeeze;
  Activation activation;
  int stride;
};

const std::vector<MobileRow> kSmallRows = {
    {16, 3, 16, 16, true, relu, 2},       {16, 3, 72, 24, false, relu, 2},
    {24, 3, 88, 24, false, relu, 1},      {24, 5, 96, 40, true, hardswish, 2},
    {40, 5, 240, 40, true, hardswish, 1}, {40, 5, 240, 40, true, hardswish, 1},
    {40, 5, 120, 48, true, hardswish, 1}, {48, 5, 144, 48, true, hardswish, 1},
    {48, 5, 288, 96, true, hardswish, 2}, {96, 5, 576, 96, true, hardswish, 1},
    {96, 5, 576, 96, true, hardswish, 1},
};
const std::vector<MobileRow> kLargeRows = {
    {16, 3, 16, 16, false, relu, 1},        {16, 3, 64, 24, false, relu, 2},
    {24, 3, 72, 24, false, relu, 1},        {24, 5, 72, 40, true, relu, 2},
    {40, 5, 120, 40, true, relu, 1},        {40, 5, 120, 40, true, relu, 1},
    {40, 3, 240, 80, false, hardswish, 2},  {80, 3, 200, 80, false, hardswish, 1},
    {80, 3, 184, 80, false, hardswish, 1},  {80, 3, 184, 80, false, hardswish, 1},
    {80, 3, 480, 112, true, hardswish, 1},  {112, 3, 672, 112, true, hardswish, 1},
    {112, 5, 672, 160, true, hardswish, 2}, {160, 5, 960, 160, true, hardswish, 1},
    {160, 5, 960, 160, true, hardswish, 1},
};

at::Tensor hardsigmoid(const at::Tensor& x) { return at::hardsigmoid(x); }

// The multiple of 8 nearest to `channels`, at most a tenth below it.
int by_eights(int channels) {
  const int rounded = std::max(8, (channels + 4) / 8 * 8);
  return 10 * rounded < 9 * channels ? rounded + 8 : rounded;
}

class InvertedResidual : public Block {
 public:
  InvertedResidual(const MobileRow& row, const NormChoice& norm)
      : residual_(row.stride == 1 && row.in == row.out), block_(std::make_shared<Chain>()) {
    if (row.expanded != row.in)
      block_->add(conv_norm({.in = row.in, .out = row.expanded, .kernel = 1}, norm, row.activation));
    block_->add(conv_norm({.in = row.expanded,
                           .out = row.expanded,
                           .kernel = row.kernel,
                           .stride = row.stride,
                           .groups = row.expanded},
                          norm, row.activation));
    if (row.squeeze)
      block_->add(squeeze_excitation(row.expanded, by_eights(row.expanded / 4), relu, hardsigmoid));
    block_->add(conv_norm({.in = row.expanded, .out = row.out, .kernel = 1}, norm, nullptr));
    register_module("block", block_);
  }

  at::Tensor forward(const at::Tensor& x, Pass& pass) override {
    const at::Tensor y = block_->forward(x, pass);
    return residual_ ? y + x : y;
  }

 private:
  const bool residual_;
  const std::shared_ptr<Chain> block_;
};

class MobileNetV3 : public Network {
 public:
  MobileNetV3(const ModelSpec& spec, const std::vector<MobileRow>& rows, int last, const NormChoice& norm)
      : features_(std::make_shared<Chain>()), classifier_(std::make_shared<Chain>()) {
    features_->add(
        conv_norm({.in = spec.input.channels, .out = rows.front().in, .stride = small_stem(spec) ? 1 : 2},
                  norm, hardswish));
    for (const MobileRow& row : rows) features_->add(std::make_shared<InvertedResidual>(row, norm));
    const int out = rows.back().out;
    features_->add(conv_norm({.in = out, .out = 6 * out, .kernel = 1}, norm, hardswish));
    classifier_->add(std::make_shared<Linear>(6 * out, last))
        .add(hardswish)
        .add_dropout(dropout_of(spec, 0.2))
        .add(std::make_shared<Linear>(last, spec.classes));
    register_module("features", features_);
    register_module("classifier", classifier_);
    link("features", *features_);
    before_next(mean_pixel);
    link("classifier", *classifier_);
  }

  void initialise(std::uint64_t seed) override {
    const Rule hundredth = [](const at::Tensor&) -> Draw { return {Draw::Shape::normal, 0.01}; };
    Initialiser(seed).fill(
        *this, {.conv = he_outputs, .conv_bias = zeros, .linear = hundredth, .linear_bias = zeros});
  }

 private:
  const std::shared_ptr<Chain> features_;
  const std::shared_ptr<Chain> classifier_;
};

std::shared_ptr<Network> make(const ModelSpec& spec, const std::vector<MobileRow>& rows, int last) {
  NormChoice norm = norm_of(spec);
  if (norm.kind == NormChoice::Kind::batch) norm.epsilon = 1e-3, norm.momentum = 0.01;
  return std::make_shared<MobileNetV3>(spec, rows, last, norm);
}

}  // namespace

std::shared_ptr<Network> make_mobilenet_v3_small(const ModelSpec& spec) {
  return make(spec, kSmallRows, 1024);
}
std::shared_ptr<Network> make_mobilenet_v3_large(const ModelSpec& spec) {
  return make(spec, kLargeRows, 1280);
}

}  // namespace veche::torch_model
