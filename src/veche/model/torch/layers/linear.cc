#include <algorithm>

#include "veche/model/torch/layers/layers.h"
#include "veche/model/torch/layers/product.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, std::int64_t report) {
    const at::Tensor x = input.contiguous();
    context->save_for_backward({x, weight});
    context->saved_data["weight"] = weight.grad();
    context->saved_data["bias"] = bias.grad();
    context->saved_data["report"] = report;
    const std::int64_t rows = x.size(0), in = x.size(1), out = weight.size(0);
    const at::Tensor y = at::empty({rows, out});
    float* numbers = y.data_ptr<float>();
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(bias.data_ptr<float>(), out, numbers + r * out);
    product({x.data_ptr<float>(), in}, {weight.data_ptr<float>(), in, true}, numbers, rows, in, out, true);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], dy = gradients[0].contiguous();
    const at::Tensor dw = context->saved_data["weight"].toTensor();
    at::Tensor db = context->saved_data["bias"].toTensor();
    const std::int64_t rows = x.size(0), in = x.size(1), out = weight.size(0);
    // Compute everything that needs the weights first: once their gradient is reported final, the
    // listener may change them.
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = at::empty({rows, in});
      product({dy.data_ptr<float>(), out}, {weight.data_ptr<float>(), in}, dx.data_ptr<float>(), rows, out,
              in);
    }
    const GradientReport& report = report_at(context->saved_data["report"]);
    product({dy.data_ptr<float>(), out, true}, {x.data_ptr<float>(), in}, dw.data_ptr<float>(), out, rows, in,
            report.adds);
    if (report.adds)
      db.add_(dy.sum(0));
    else
      at::sum_out(db, dy, 0);
    report.final(dw);
    report.final(db);
    return {dx, {}, {}, {}};
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
