#include "veche/model/torch/layers.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ConvFunction : torch::autograd::Function<ConvFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const c10::optional<at::Tensor>& bias, std::int64_t stride, std::int64_t padding,
                            std::int64_t groups, std::int64_t report) {
    context->save_for_backward({x, weight});
    context->saved_data["gradient"] = weight.grad();
    if (bias) context->saved_data["bias"] = bias->grad();
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["groups"] = groups;
    context->saved_data["report"] = report;
    return at::conv2d(x, weight, bias, stride, padding, 1, groups);
  }

  static variable_list backward(AutogradContext* context, variable_list dy) {
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const std::int64_t stride = data["stride"].toInt(), padding = data["padding"].toInt();
    const auto bias = data.find("bias");
    const at::OptionalIntArrayRef bias_size =
        bias == data.end() ? at::OptionalIntArrayRef() : saved[1].sizes().slice(0, 1);
    const auto [dx, dw, db] = at::convolution_backward(
        dy[0], saved[0], saved[1], bias_size, {stride, stride}, {padding, padding}, {1, 1}, false, {0, 0},
        data["groups"].toInt(), {context->needs_input_grad(0), true, bias != data.end()});
    const GradientReport& report = report_at(data["report"]);
    keep(data["gradient"].toTensor(), dw, report);
    if (bias != data.end()) keep(bias->second.toTensor(), db, report);
    return {dx, {}, {}, {}, {}, {}, {}};
  }

 private:
  static void keep(const at::Tensor& place, const at::Tensor& gradient, const GradientReport& report) {
    place.copy_(gradient);
    report.final(place);
  }
};

}  // namespace

Conv::Conv(const ConvOptions& options) : options_(options) {
  weight = register_parameter(
      "weight", at::empty({options.out, options.in / options.groups, options.kernel, options.kernel}));
  if (options.bias) bias = register_parameter("bias", at::empty({options.out}));
}

at::Tensor Conv::forward(const at::Tensor& x) const {
  const c10::optional<at::Tensor> added = bias.defined() ? c10::make_optional(bias) : c10::nullopt;
  return ConvFunction::apply(x, weight, added, std::int64_t{options_.stride}, std::int64_t{options_.padding},
                             std::int64_t{options_.groups}, report_address());
}

at::Tensor Conv::forward_without_bias(const at::Tensor& x) const {
  return ConvFunction::apply(x, weight, c10::optional<at::Tensor>(), std::int64_t{options_.stride},
                             std::int64_t{options_.padding}, std::int64_t{options_.groups}, report_address());
}

}  // namespace veche::torch_model
