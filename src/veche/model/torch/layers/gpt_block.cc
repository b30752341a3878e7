#include "veche/model/torch/layers/gpt_block.h"

#include <ATen/TracerMode.h>

#include <cmath>
#include <limits>

#include "veche/model/torch/kernels/threaded_kernels.h"
#include "veche/model/torch/layers/product.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const float* numbers(const at::Tensor& tensor) { return tensor.data_ptr<float>(); }
float* room(const at::Tensor& tensor) { return tensor.data_ptr<float>(); }
const float* numbers_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? numbers(tensor) : nullptr;
}

std::int64_t rows_of(const at::Tensor& x) { return x.numel() / x.size(-1); }

at::Tensor parameter_or_nothing(torch::nn::Module& module, std::int64_t count, bool wanted) {
  return wanted ? module.register_parameter("bias", at::empty({count})) : at::Tensor();
}

at::Tensor like_rows(const at::Tensor& x, std::int64_t width) {
  std::vector<std::int64_t> size = x.sizes().vec();
  size.back() = width;
  return at::empty(size);
}

}  // namespace

Projection::Projection(std::int64_t in, std::int64_t out, bool with_bias)
    : weight(register_parameter("weight", at::empty({in, out}))),
      bias(parameter_or_nothing(*this, out, with_bias)) {}

at::Tensor Projection::forward(const at::Tensor& x) const {
  const at::Tensor y = at::matmul(x, weight);
  return bias.defined() ? y + bias : y;
}

void Projection::apply(const at::Tensor& x, const at::Tensor& y, bool add) const {
  const std::int64_t rows = rows_of(x), in = weight.size(0), out = weight.size(1);
  if (bias.defined()) {
    if (add)
      y.add_(bias);
    else
      y.copy_(bias.expand_as(y));
  }
  product({numbers(x), in}, {numbers(weight), out}, room(y), rows, in, out, add || bias.defined());
}

at::Tensor Projection::input_gradient(const at::Tensor& dy) const {
  const std::int64_t in = weight.size(0), out = weight.size(1);
  const at::Tensor dx = like_rows(dy, in);
  product({numbers(dy), out}, {numbers(weight), out, true}, room(dx), rows_of(dy), out, in);
  return dx;
}

void Projection::parameter_gradients(const at::Tensor& x, const at::Tensor& dy) const {
  const std::int64_t in = weight.size(0), out = weight.size(1);
  product({numbers(x), in, true}, {numbers(dy), out}, room(weight.grad()), in, rows_of(x), out, report->adds);
  if (!bias.defined()) return;
  at::Tensor db = bias.grad();
  const at::Tensor flat = dy.view({-1, out});
  if (report->adds)
    db.add_(flat.sum(0));
  else
    at::sum_out(db, flat, 0);
}

void Projection::report_final() const {
  report->final(weight.grad());
  if (bias.defined()) report->final(bias.grad());
}

TokenNorm::TokenNorm(std::int64_t width, bool with_bias)
    : weight(register_parameter("weight", at::empty({width}))),
      bias(parameter_or_nothing(*this, width, with_bias)) {}

TokenNorm::Normal TokenNorm::apply(const at::Tensor& x) const {
  const std::int64_t rows = rows_of(x);
  Normal normal{at::empty(x.sizes()), at::empty({rows}), at::empty({rows})};
  threaded::token_norm(numbers(x), rows, x.size(-1), numbers(weight), numbers_or_null(bias),
                       static_cast<float>(kEpsilon), room(normal.y), room(normal.mean), room(normal.scale));
  return normal;
}

at::Tensor TokenNorm::gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean,
                                const at::Tensor& scale, const at::Tensor& around) const {
  const at::Tensor dx = at::empty(x.sizes());
  const at::Tensor dweight = weight.grad(), dbias = bias.defined() ? bias.grad() : at::Tensor();
  if (!report->adds) {
    dweight.zero_();
    if (dbias.defined()) dbias.zero_();
  }
  threaded::token_norm_gradient(numbers(dy), numbers(x), rows_of(x), x.size(-1), numbers(weight),
                                numbers(mean), numbers(scale), numbers_or_null(around), room(dx),
                                room(dweight), dbias.defined() ? room(dbias) : nullptr);
  return dx;
}

void TokenNorm::report_final() const {
  report->final(weight.grad());
  if (bias.defined()) report->final(bias.grad());
}

struct TokenNorm::Function : torch::autograd::Function<TokenNorm::Function> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor&,
                            std::int64_t address) {
    const auto& norm = *reinterpret_cast<const TokenNorm*>(address);
    const at::Tensor x = input.contiguous();
    const Normal normal = norm.apply(x);
    context->save_for_backward({x, normal.mean, normal.scale});
    context->saved_data["norm"] = address;
    return normal.y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto& norm = *reinterpret_cast<const TokenNorm*>(context->saved_data["norm"].toInt());
    const at::Tensor dx = norm.gradients(gradients[0].contiguous(), saved[0], saved[1], saved[2], {});
    norm.report_final();
    return {dx, {}, {}};
  }
};

at::Tensor TokenNorm::forward(const at::Tensor& x) const {
  if (by_itself()) return Function::apply(x, weight, reinterpret_cast<std::int64_t>(this));
  return at::layer_norm(x, {x.size(-1)}, weight, bias, kEpsilon);
}

GptBlock::GptBlock(const GptBlockOptions& given) : options(given) {
  const std::int64_t width = options.width;
  const auto part = [&](const char* name) {
    return register_module(name, std::make_shared<torch::nn::Module>());
  };
  ln_1 = register_module("ln_1", std::make_shared<TokenNorm>(width, options.bias));
  const auto attention = part("attn");
  qkv = attention->register_module("c_attn", std::make_shared<Projection>(width, 3 * width, options.bias));
  out = attention->register_module("c_proj", std::make_shared<Projection>(width, width, options.bias));
  ln_2 = register_module("ln_2", std::make_shared<TokenNorm>(width, options.bias));
  const auto mlp = part("mlp");
  up = mlp->register_module("c_fc", std::make_shared<Projection>(width, 4 * width, options.bias));
  down = mlp->register_module("c_proj", std::make_shared<Projection>(4 * width, width, options.bias));
}

struct GptBlock::AttentionHalf : torch::autograd::Function<GptBlock::AttentionHalf> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor&,
                            std::int64_t address, bool add, double dropped, std::int64_t seed) {
    const auto& block = *reinterpret_cast<const GptBlock*>(address);
    const at::Tensor x = input.contiguous();
    const AttentionSize size = size_of(block, x);
    const TokenNorm::Normal normal = block.ln_1->apply(x);
    const at::Tensor qkv = like_rows(x, 3 * size.row()), seen = at::empty(x.sizes());
    const at::Tensor log_sums = at::empty({size.pairs() * size.length});
    block.qkv->apply(normal.y, qkv, false);
    threaded::attention_forward(size, {dropped, static_cast<std::uint64_t>(seed)}, numbers(qkv), room(seen),
                                room(log_sums), room(work_of(size)));
    const at::Tensor y = add ? x.clone() : at::empty(x.sizes());
    block.out->apply(seen, y, add);
    context->save_for_backward({x, normal.y, normal.mean, normal.scale, qkv, seen, log_sums});
    for (const auto& [name, value] : {std::pair("block", address), std::pair("seed", seed)})
      context->saved_data[name] = value;
    context->saved_data["add"] = add;
    context->saved_data["dropped"] = dropped;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &normal = saved[1], &qkv = saved[4], &seen = saved[5];
    const auto& block = *reinterpret_cast<const GptBlock*>(context->saved_data["block"].toInt());
    const AttentionSize size = size_of(block, x);
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dseen = block.out->input_gradient(dy), dqkv = at::empty(qkv.sizes());
    threaded::attention_backward(size,
                                 {context->saved_data["dropped"].toDouble(),
                                  static_cast<std::uint64_t>(context->saved_data["seed"].toInt())},
                                 numbers(qkv), numbers(seen), numbers(saved[6]), numbers(dseen), room(dqkv),
                                 room(work_of(size)));
    const at::Tensor dnormal = block.qkv->input_gradient(dqkv);
    const at::Tensor around = context->saved_data["add"].toBool() ? dy : at::Tensor();
    const at::Tensor dx = block.ln_1->gradients(dnormal, x, saved[2], saved[3], around);
    block.out->parameter_gradients(seen, dy);
    block.qkv->parameter_gradients(normal, dqkv);
    // Only now: a listener may change what is final, and nothing here needs it any more.
    block.out->report_final();
    block.qkv->report_final();
    block.ln_1->report_final();
    return {dx, {}, {}, {}, {}, {}};
  }

  static AttentionSize size_of(const GptBlock& block, const at::Tensor& x) {
    return {x.size(0), x.size(1), block.options.heads, block.options.width / block.options.heads};
  }
  static at::Tensor work_of(const AttentionSize& size) {
    return at::empty({static_cast<std::int64_t>(threaded::attention_work(size))});
  }
};

struct GptBlock::MlpHalf : torch::autograd::Function<GptBlock::MlpHalf> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor&,
                            std::int64_t address, bool add, double /*dropped*/, std::int64_t /*seed*/) {
    const auto& block = *reinterpret_cast<const GptBlock*>(address);
    const at::Tensor x = input.contiguous();
    const TokenNorm::Normal normal = block.ln_2->apply(x);
    const at::Tensor inner = like_rows(x, 4 * block.options.width), active = at::empty(inner.sizes());
    block.up->apply(normal.y, inner, false);
    threaded::gelu(numbers(inner), inner.numel(), room(active));
    const at::Tensor y = add ? x.clone() : at::empty(x.sizes());
    block.down->apply(active, y, add);
    context->save_for_backward({x, normal.y, normal.mean, normal.scale, inner});
    context->saved_data["block"] = address;
    context->saved_data["add"] = add;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &normal = saved[1], &inner = saved[4];
    const auto& block = *reinterpret_cast<const GptBlock*>(context->saved_data["block"].toInt());
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dinner = block.down->input_gradient(dy), active = at::empty(inner.sizes());
    threaded::gelu_gradient(numbers(inner), numbers(dinner), inner.numel(), room(active), room(dinner));
    const at::Tensor dnormal = block.up->input_gradient(dinner);
    const at::Tensor around = context->saved_data["add"].toBool() ? dy : at::Tensor();
    const at::Tensor dx = block.ln_2->gradients(dnormal, x, saved[2], saved[3], around);
    block.down->parameter_gradients(active, dy);
    block.up->parameter_gradients(normal, dinner);
    block.down->report_final();
    block.up->report_final();
    block.ln_2->report_final();
    return {dx, {}, {}, {}, {}, {}};
  }
};

template <class Half>
at::Tensor GptBlock::fused(const at::Tensor& x, const at::Tensor& parameter, Pass& pass) const {
  const auto address = reinterpret_cast<std::int64_t>(this);
  const double dropped = pass.training ? options.dropout : 0;
  if (dropped == 0) return Half::apply(x, parameter, address, true, 0.0, std::int64_t{0});
  const auto seed = static_cast<std::int64_t>(pass.dropout.next());
  return x + dropout(Half::apply(x, parameter, address, false, dropped, seed), dropped, pass);
}

at::Tensor GptBlock::forward(const at::Tensor& x, Pass& pass) const {
  if (qkv->by_itself()) return fused<MlpHalf>(fused<AttentionHalf>(x, qkv->weight, pass), up->weight, pass);
  const at::Tensor y = x + dropout(plain_attention(ln_1->forward(x), pass), options.dropout, pass);
  const at::Tensor branch = down->forward(at::gelu(up->forward(ln_2->forward(y)), "tanh"));
  return y + dropout(branch, options.dropout, pass);
}

// With the whole matrix of scores, by operations that libtorch can put on a device, count and
// trace.
at::Tensor GptBlock::plain_attention(const at::Tensor& x, Pass& pass) const {
  const std::int64_t n = x.size(0), length = x.size(1), width = options.width / options.heads;
  const auto parts =
      qkv->forward(x).view({n, length, 3, options.heads, width}).permute({2, 0, 3, 1, 4}).unbind();
  const at::Tensor hidden = [&] {
    const at::tracer::impl::NoTracerDispatchMode guard;  // to a trace it is a constant
    return at::full({length, length}, -std::numeric_limits<float>::infinity(), x.options()).triu(1);
  }();
  const at::Tensor scores =
      at::matmul(parts[0] / std::sqrt(static_cast<double>(width)), parts[1].transpose(-2, -1)) + hidden;
  const at::Tensor shares = dropout(at::softmax(scores, -1), options.dropout, pass);
  return out->forward(at::matmul(shares, parts[2]).transpose(1, 2).reshape({n, length, options.width}));
}

}  // namespace veche::torch_model
