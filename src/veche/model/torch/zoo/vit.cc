#include <cmath>

#include "veche/errors.h"
#include "veche/model/torch/layers/chain.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

constexpr double kVitEpsilon = 1e-6;
constexpr int kWidth = 192;
constexpr int kHeads = 3;
constexpr int kLayers = 12;

// torch.nn.MultiheadAttention as self-attention.
class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention()
      : in_weight(register_parameter("in_proj_weight", at::empty({3 * kWidth, kWidth}))),
        in_bias(register_parameter("in_proj_bias", at::empty({3 * kWidth}))),
        out(register_module("out_proj", std::make_shared<Linear>(kWidth, kWidth))) {}

  at::Tensor forward(const at::Tensor& x) const {
    const std::int64_t n = x.size(0), length = x.size(1), width = kWidth / kHeads;
    const auto parts = at::linear(x, in_weight, in_bias)
                           .view({n, length, 3, kHeads, width})
                           .permute({2, 0, 3, 1, 4})
                           .unbind();
    const at::Tensor likeness =
        at::matmul(parts[0] / std::sqrt(static_cast<double>(width)), parts[1].transpose(-2, -1));
    const at::Tensor seen = at::matmul(at::softmax(likeness, -1), parts[2]);
    return out->forward(seen.transpose(1, 2).reshape({n, length, kWidth}));
  }

  at::Tensor in_weight;
  at::Tensor in_bias;
  std::shared_ptr<Linear> out;
};

class EncoderLayer : public torch::nn::Module {
 public:
  explicit EncoderLayer(double dropout)
      : attention(std::make_shared<SelfAttention>()),
        dropout_(dropout),
        ln_1_(register_module("ln_1", std::make_shared<LayerNorm>(kWidth, kVitEpsilon))) {
    register_module("self_attention", attention);
    ln_2_ = register_module("ln_2", std::make_shared<LayerNorm>(kWidth, kVitEpsilon));
    mlp->add(std::make_shared<Linear>(kWidth, 4 * kWidth))
        .add([](const at::Tensor& x) { return at::gelu(x); })
        .add_dropout(dropout)
        .add(std::make_shared<Linear>(4 * kWidth, kWidth))
        .add_dropout(dropout);
    register_module("mlp", mlp);
  }

  at::Tensor forward(const at::Tensor& input, Pass& pass) {
    const at::Tensor x = dropout(attention->forward(ln_1_->forward(input)), dropout_, pass) + input;
    return x + mlp->forward(ln_2_->forward(x), pass);
  }

  const std::shared_ptr<SelfAttention> attention;
  const std::shared_ptr<Chain> mlp = std::make_shared<Chain>();

 private:
  const double dropout_;
  const std::shared_ptr<LayerNorm> ln_1_;
  std::shared_ptr<LayerNorm> ln_2_;
};

// Dosovitskiy et al., in the size of the smallest DeiT (Touvron et al.), with torchvision's names.
class VisionTransformer : public Network {
 public:
  VisionTransformer(const ModelSpec& spec, int patch)
      : dropout_(dropout_of(spec, 0)),
        class_token_(register_parameter("class_token", at::empty({1, 1, kWidth}))),
        patches_(register_module(
            "conv_proj",
            std::make_shared<Conv>(ConvOptions{
                .in = spec.input.channels, .out = kWidth, .kernel = patch, .stride = patch, .bias = true}))) {
    const auto encoder = register_module("encoder", std::make_shared<torch::nn::Module>());
    const int length = 1 + spec.input.height / patch * (spec.input.width / patch);
    position_ = encoder->register_parameter("pos_embedding", at::empty({1, length, kWidth}));
    const auto layers = encoder->register_module("layers", std::make_shared<torch::nn::Module>());
    for (int i = 0; i < kLayers; ++i)
      layers_.push_back(layers->register_module("encoder_layer_" + std::to_string(i),
                                                std::make_shared<EncoderLayer>(dropout_)));
    ln_ = encoder->register_module("ln", std::make_shared<LayerNorm>(kWidth, kVitEpsilon));
    const auto heads = register_module("heads", std::make_shared<torch::nn::Module>());
    head_ = heads->register_module("head", std::make_shared<Linear>(kWidth, spec.classes));
    link("conv_proj", {"class_token", "conv_proj", "encoder.pos_embedding"},
         [this](const at::Tensor& images, Pass& pass) {
           const at::Tensor patches = patches_->forward(images).flatten(2).transpose(1, 2);
           const at::Tensor x =
               at::cat({class_token_.expand({images.size(0), 1, kWidth}), patches}, 1) + position_;
           return dropout(x, dropout_, pass);
         });
    for (std::size_t i = 0; i < layers_.size(); ++i)
      link_block("encoder.layers.encoder_layer_" + std::to_string(i), layers_[i]);
    link("heads", {"encoder.ln", "heads"},
         [this](const at::Tensor& x, Pass&) { return head_->forward(ln_->forward(x.select(1, 0))); });
  }

  void initialise(std::uint64_t seed) override {
    Initialiser init(seed);
    const Rule by_inputs = [](const at::Tensor& weight) -> Draw {
      return {Draw::Shape::normal, std::sqrt(1 / static_cast<double>(weight.numel() / weight.size(0)))};
    };
    const Rule tiny = [](const at::Tensor&) -> Draw { return {Draw::Shape::normal, 1e-6}; };
    init.fill(*this, {.conv = by_inputs, .conv_bias = zeros, .linear = xavier_uniform, .linear_bias = tiny});
    for (const auto& layer : layers_) {
      SelfAttention& attention = *layer->attention;
      init.fill(attention.in_weight, xavier_uniform(attention.in_weight));
      init.fill(attention.in_bias, {});
      init.fill(attention.out->weight, usual(attention.out->weight));
      init.fill(attention.out->bias, {});
    }
    init.fill(position_, {Draw::Shape::normal, 0.02});
    init.fill(class_token_, {});
    init.fill(head_->weight, {});
    init.fill(head_->bias, {});
  }

 private:
  const double dropout_;
  at::Tensor class_token_;
  at::Tensor position_;
  const std::shared_ptr<Conv> patches_;
  std::vector<std::shared_ptr<EncoderLayer>> layers_;
  std::shared_ptr<LayerNorm> ln_;
  std::shared_ptr<Linear> head_;
};

}  // namespace

std::shared_ptr<Network> make_vit_tiny(const ModelSpec& spec) {
  const int patch = small_stem(spec) ? 4 : 16;
  require_pixels(spec, patch);
  if (spec.input.height % patch != 0 || spec.input.width % patch != 0)
    throw RequestError("model.name: 'vit_tiny' cuts images into patches of " + std::to_string(patch) + "x" +
                       std::to_string(patch) + " pixels, which does not divide " +
                       std::to_string(spec.input.height) + "x" + std::to_string(spec.input.width) +
                       "; resize the data");
  return std::make_shared<VisionTransformer>(spec, patch);
}

}  // namespace veche::torch_model
