#include "veche/model/torch/layers.h"
#include "veche/model/torch/threaded_products.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, std::int64_t report) {
    context->save_for_backward({x, weight});
    context->saved_data["weight"] = weight.grad();
    context->saved_data["bias"] = bias.grad();
    context->saved_data["report"] = report;
    return threaded::product_with_bias(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list dy) {
    const variable_list saved = context->get_saved_variables();
    at::Tensor dw = context->saved_data["weight"].toTensor();
    at::Tensor db = context->saved_data["bias"].toTensor();
    threaded::product_into(dw, dy[0].t(), saved[0]);
    at::sum_out(db, dy[0], 0);
    const GradientReport& report = report_at(context->saved_data["report"]);
    report.final(dw);
    report.final(db);
    return {context->needs_input_grad(0) ? threaded::product(dy[0], saved[1]) : at::Tensor(), {}, {}, {}};
  }
};

}  // namespace

const GradientReport& report_at(const c10::IValue& address) {
  return *reinterpret_cast<const GradientReport*>(address.toInt());
}

Linear::Linear(std::int64_t in, std::int64_t out) {
  weight = register_parameter("weight", at::empty({out, in}));
  bias = register_parameter("bias", at::empty({out}));
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  if (!by_itself()) return at::linear(x, weight, bias);
  if (x.dim() == 2) return LinearFunction::apply(x, weight, bias, report_address());
  std::vector<std::int64_t> size = x.sizes().vec();
  size.back() = weight.size(0);
  return LinearFunction::apply(x.reshape({-1, x.size(-1)}), weight, bias, report_address()).view(size);
}

}  // namespace veche::torch_model
