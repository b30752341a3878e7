#include "veche/model/torch/zoo/gpt.h"

#include <cmath>

#include "veche/errors.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/layers/placeholder.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

constexpr double kDeviation = 0.02;  // of the published GPT-2's initial weights

std::shared_ptr<torch::nn::Module> table(std::int64_t rows, std::int64_t width) {
  auto module = std::make_shared<torch::nn::Module>();
  module->register_parameter("weight", at::empty({rows, width}));
  return module;
}

}  // namespace

Gpt::Gpt(const GptSize& size, int symbols, double dropped) : size_(size), dropout_(dropped) {
  const auto body = register_module("transformer", std::make_shared<torch::nn::Module>());
  wte_ = body->register_module("wte", table(symbols, size.width))->parameters().front();
  wpe_ = body->register_module("wpe", table(size.context, size.width))->parameters().front();
  const auto layers = body->register_module("h", std::make_shared<torch::nn::Module>());
  for (int i = 0; i < size.layers; ++i)
    blocks_.push_back(layers->register_module(
        std::to_string(i),
        std::make_shared<GptBlock>(GptBlockOptions{size.width, size.heads, size.bias, dropped})));
  ln_ = body->register_module("ln_f", std::make_shared<TokenNorm>(size.width, size.bias));
  if (!size.tied) head_ = register_module("lm_head", table(symbols, size.width))->parameters().front();

  link("transformer.wte", {"transformer.wte", "transformer.wpe"},
       [this](const at::Tensor& tokens, Pass& pass) {
         const at::Tensor positions = wpe_.narrow(0, 0, tokens.size(1));
         return torch_model::dropout(at::embedding(wte_, tokens) + positions, dropout_, pass);
       });
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    link_block("transformer.h." + std::to_string(i), blocks_[i]);
  link("transformer.ln_f", {"transformer.ln_f", "lm_head"}, [this](const at::Tensor& x, Pass& pass) {
    const at::Tensor& own = size_.tied ? wte_ : head_;
    return at::linear(ln_->forward(x), pass.shared_rows.defined() ? pass.shared_rows : own);
  });
}

// As in the published GPT-2: the last layers of the branches begin smaller, because as many of them
// add up as there are branches.
void Gpt::initialise(std::uint64_t seed) {
  Initialiser init(seed);
  const Draw usual{Draw::Shape::normal, kDeviation};
  const Draw last{Draw::Shape::normal, kDeviation / std::sqrt(2.0 * size_.layers)};
  const auto fill = [&](const Projection& layer, const Draw& draw) {
    at::Tensor weight = layer.weight, bias = layer.bias;
    init.fill(weight, draw);
    if (bias.defined()) init.fill(bias, {});
  };
  const auto identity = [&](const TokenNorm& norm) {
    at::NoGradGuard guard;
    if (is_placeholder(norm.weight)) return;
    norm.weight.fill_(1);
    if (norm.bias.defined()) norm.bias.zero_();
  };
  init.fill(wte_, usual);
  init.fill(wpe_, usual);
  for (const auto& block : blocks_) {
    fill(*block->qkv, usual);
    fill(*block->out, last);
    fill(*block->up, usual);
    fill(*block->down, last);
    identity(*block->ln_1);
    identity(*block->ln_2);
  }
  identity(*ln_);
  if (head_.defined()) init.fill(head_, usual);
}

std::shared_ptr<Network> make_gpt(const ModelSpec& spec) {
  ModelSettings settings = spec.settings;
  settings.name = spec.name;
  const GptSize size = *gpt_size(settings);
  if (spec.input.height != 1 || spec.input.width != 1 || spec.task != Task::language)
    throw RequestError("model.name: '" + spec.name + "' reads text; choose data.name = \"text\"");
  if (spec.input.channels > size.context)
    throw RequestError("model.context: '" + spec.name + "' sees " + std::to_string(size.context) +
                       " tokens, but the data have windows of " + std::to_string(spec.input.channels) +
                       "; set model.context to that");
  return std::make_shared<Gpt>(size, spec.classes, dropout_of(spec, 0));
}

}  // namespace veche::torch_model
