#include "veche/model/torch/layers.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ConvFunction : torch::autograd::Function<ConvFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            std::int64_t stride, std::int64_t padding, std::int64_t report) {
    context->save_for_backward({x, weight});
    context->saved_data["gradient"] = weight.grad();
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["report"] = report;
    return at::conv2d(x, weight, {}, stride, padding);
  }

  static variable_list backward(AutogradContext* context, variable_list dy) {
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const std::int64_t stride = data["stride"].toInt(), padding = data["padding"].toInt();
    const auto [dx, dw, db] = at::convolution_backward(
        dy[0], saved[0], saved[1], c10::nullopt, {stride, stride}, {padding, padding}, {1, 1}, false, {0, 0},
        1, {context->needs_input_grad(0), true, false});
    const at::Tensor gradient = data["gradient"].toTensor();
    gradient.copy_(dw);
    report_at(data["report"]).final(gradient);
    return {dx, {}, {}, {}, {}};
  }
};

}  // namespace

Conv::Conv(const ConvOptions& options) : options_(options) {
  weight = register_parameter("weight", at::empty({options.out, options.in, options.kernel, options.kernel}));
  if (options.bias) bias = register_parameter("bias", at::empty({options.out}));
}

at::Tensor Conv::forward(const at::Tensor& x) const {
  return ConvFunction::apply(x, weight, std::int64_t{options_.stride}, std::int64_t{options_.padding},
                             report_address());
}

}  // namespace veche::torch_model
