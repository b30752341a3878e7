#include <ATen/record_function.h>

#include "veche/model/torch/layers/conv_plan.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::size_t kMostPlans = 8;

}  // namespace

struct Conv::Function : torch::autograd::Function<Conv::Function> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const Conv& layer, bool with_bias) {
    const at::Tensor x = channels_last(input);
    const std::shared_ptr<Ready> ready = layer.ready(x, with_bias);
    context->save_for_backward({x, weight});
    // Autograd saves only tensors and numbers; the layer outlives every pass.
    context->saved_data["layer"] = reinterpret_cast<std::int64_t>(&layer);
    context->saved_data["with_bias"] = with_bias;
    // Makes it visible to libtorch's observers like a built-in operation; cost.cc is one.
    at::RecordFunction record(at::RecordScope::FUNCTION);
    std::vector<c10::IValue> factors;
    if (record.isActive()) {
      factors = {x, weight};
      record.before("veche::convolution", &factors);
    }
    const at::Tensor y = ready->plan->forward(x, weight, layer.bias, layer.kept(ready->forth));
    if (record.isActive()) record.setOutputs(std::vector<c10::IValue>(1, y));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], dy = channels_last(gradients[0]);
    const Conv& layer = *reinterpret_cast<const Conv*>(context->saved_data["layer"].toInt());
    const bool with_bias = context->saved_data["with_bias"].toBool();
    const std::shared_ptr<Ready> ready = layer.ready(x, with_bias);
    ConvPlan& plan = *ready->plan;
    const at::Tensor dbias = with_bias ? layer.bias.grad() : at::Tensor();
    at::Tensor dx;
    if (context->needs_input_grad(0)) dx = plan.input_gradient(dy, weight, layer.kept(ready->back));
    plan.parameter_gradients(dy, x, layer.weight.grad(), dbias, layer.report->adds);
    layer.report->final(layer.weight.grad());
    if (dbias.defined()) layer.report->final(dbias);
    return {dx, {}, {}, {}};
  }
};

Conv::Conv(const ConvOptions& options) : options_(options) {
  weight = register_parameter(
      "weight", at::empty({options.out, options.in / options.groups, options.kernel, options.kernel}));
  if (options.bias) bias = register_parameter("bias", at::empty({options.out}));
}

Conv::~Conv() = default;

at::Tensor Conv::forward(const at::Tensor& x) const {
  if (by_itself()) return Function::apply(x, weight, *this, bias.defined());
  const c10::optional<at::Tensor> added = bias.defined() ? c10::make_optional(bias) : c10::nullopt;
  return at::conv2d(x, weight, added, options_.stride, options_.padding, 1, options_.groups);
}

at::Tensor Conv::forward_without_bias(const at::Tensor& x) const {
  return Function::apply(x, weight, *this, false);
}

void Conv::forget() {
  const MutexLock lock(used_mutex_);
  for (const auto& ready : used_) ready->forth = ready->back = at::Tensor();
}

std::shared_ptr<Conv::Ready> Conv::ready(const at::Tensor& x, bool with_bias) const {
  const MutexLock lock(used_mutex_);
  const bool rest = report->parameters_fixed;
  for (const auto& ready : used_)
    if (ready->plan->fits(options_, x.sizes(), weight, with_bias, rest)) return ready;
  // Sizes of a training batch, the last batch of an epoch, and evaluation batches. Unusual variety
  // starts over.
  if (used_.size() == kMostPlans) used_.clear();
  auto plan = plans != nullptr ? plans->find_or_make(options_, x.sizes(), weight, with_bias, rest)
                               : std::make_shared<ConvPlan>(options_, x.sizes(), weight, with_bias, rest);
  used_.push_back(std::make_shared<Ready>(Ready{std::move(plan), {}, {}}));
  return used_.back();
}

}  // namespace veche::torch_model
