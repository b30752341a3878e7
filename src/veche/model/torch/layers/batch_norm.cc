#include <cmath>

#include "veche/model/torch/kernels/threaded_kernels.h"
#include "veche/model/torch/layers/norm.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor image(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return at::empty({n, c, h, w}, at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast));
}

ImageSize size_of(const at::Tensor& x) { return {x.size(0), x.size(2), x.size(3), x.size(1)}; }

// The rows of the tensor from BatchNorm::coefficients(): y = x * scale + shift.
struct Coefficients {
  explicit Coefficients(const at::Tensor& rows)
      : mean(rows.data_ptr<float>()),
        inverse(mean + rows.size(1)),
        scale(inverse + rows.size(1)),
        shift(scale + rows.size(1)) {}
  float* mean;
  float* inverse;  // 1 / standard deviation
  float* scale;
  float* shift;
};

// Gradient of the norm's input: dx = g * a + (x - mean) * b + c, from the sums of g and of g * (x -
// mean) per channel. The gradients of weight and bias come from the same sums.
struct InputGradient {
  InputGradient(const Coefficients& k, const float* sum, const float* dot, std::int64_t rows,
                std::int64_t channels, AutogradContext& context)
      : b(static_cast<std::size_t>(channels)), c(static_cast<std::size_t>(channels)) {
    const at::Tensor weight = context.saved_data["weight"].toTensor();
    const at::Tensor bias = context.saved_data["bias"].toTensor();
    float* dweight = weight.data_ptr<float>();
    float* dbias = bias.data_ptr<float>();
    const GradientReport& report = report_at(context.saved_data["report"]);
    const float n = static_cast<float>(rows);
    for (std::size_t i = 0; i < b.size(); ++i) {
      dweight[i] = (report.adds ? dweight[i] : 0) + dot[i] * k.inverse[i];
      dbias[i] = (report.adds ? dbias[i] : 0) + sum[i];
      b[i] = -k.scale[i] * k.inverse[i] * k.inverse[i] * dot[i] / n;
      c[i] = -k.scale[i] * sum[i] / n;
    }
    report.final(weight);
    report.final(bias);
  }
  std::vector<float> b;
  std::vector<float> c;
};

void keep(AutogradContext* context, const at::Tensor& weight, const at::Tensor& bias, std::int64_t report) {
  context->saved_data["weight"] = weight.grad();
  context->saved_data["bias"] = bias.grad();
  context->saved_data["report"] = report;
}

// The start of a backward pass for saved {x, coefficients, ...}.
struct Backward {
  Backward(AutogradContext* context, const at::Tensor& gradient)
      : saved(context->get_saved_variables()),
        gradient_there(channels_last(gradient)),
        result(at::empty_like(saved[0])),
        size(size_of(saved[0])),
        k(saved[1]),
        sums(static_cast<std::size_t>(2 * size.channels)),
        x(saved[0].data_ptr<float>()),
        dy(gradient_there.data_ptr<float>()),
        dx(result.data_ptr<float>()),
        sum(sums.data()),
        dot(sum + size.channels) {}

  InputGradient input_gradient(AutogradContext& context) const {
    return {k, sum, dot, size.rows(), size.channels, context};
  }

  const variable_list saved;
  const at::Tensor gradient_there;
  const at::Tensor result;
  const ImageSize size;
  const Coefficients k;
  std::vector<float> sums;
  const float* const x;
  const float* const dy;
  float* const dx;
  float* const sum;  // per channel
  float* const dot;
};

struct NormRelu : torch::autograd::Function<NormRelu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::optional<at::Tensor>& residual, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& rows, std::int64_t report) {
    const ImageSize size = size_of(x);
    const Coefficients k(rows);
    const at::Tensor beside = residual ? channels_last(*residual) : at::Tensor();
    const at::Tensor y = image(size.images, size.channels, size.height, size.width);
    threaded::scale_relu(x.data_ptr<float>(), beside.defined() ? beside.data_ptr<float>() : nullptr,
                         size.rows(), size.channels, k.scale, k.shift, y.data_ptr<float>());
    if (residual)
      context->save_for_backward({x, rows, y});
    else
      context->save_for_backward({x, rows});
    context->saved_data["residual"] = residual.has_value();
    keep(context, weight, bias, report);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Backward pass(context, gradients[0]);
    const std::int64_t rows = pass.size.rows(), channels = pass.size.channels;
    if (!context->saved_data["residual"].toBool()) {
      threaded::scale_relu_sums(pass.dy, pass.x, rows, channels, pass.k.scale, pass.k.shift, pass.k.mean,
                                pass.sum, pass.dot);
      const InputGradient input = pass.input_gradient(*context);
      threaded::combine_relu(pass.dy, pass.x, rows, channels, pass.k.scale, pass.k.shift, pass.k.mean,
                             input.b.data(), input.c.data(), pass.dx);
      return {pass.result, {}, {}, {}, {}, {}};
    }
    const at::Tensor g = at::empty_like(pass.saved[0]);
    threaded::residual_relu_sums(pass.dy, pass.saved[2].data_ptr<float>(), pass.x, rows, channels,
                                 pass.k.mean, g.data_ptr<float>(), pass.sum, pass.dot);
    const InputGradient input = pass.input_gradient(*context);
    threaded::combine(g.data_ptr<float>(), pass.x, rows, channels, pass.k.mean, pass.k.scale, input.b.data(),
                      input.c.data(), pass.dx);
    return {pass.result, g, {}, {}, {}, {}};
  }
};

struct NormAlone : torch::autograd::Function<NormAlone> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& rows, std::int64_t report) {
    const ImageSize size = size_of(x);
    const Coefficients k(rows);
    const at::Tensor y = image(size.images, size.channels, size.height, size.width);
    threaded::scale(x.data_ptr<float>(), size.rows(), size.channels, k.scale, k.shift, y.data_ptr<float>());
    context->save_for_backward({x, rows});
    keep(context, weight, bias, report);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Backward pass(context, gradients[0]);
    threaded::scale_sums(pass.dy, pass.x, pass.size.rows(), pass.size.channels, pass.k.mean, pass.sum,
                         pass.dot);
    const InputGradient input = pass.input_gradient(*context);
    threaded::combine(pass.dy, pass.x, pass.size.rows(), pass.size.channels, pass.k.mean, pass.k.scale,
                      input.b.data(), input.c.data(), pass.dx);
    return {pass.result, {}, {}, {}, {}};
  }
};

struct NormReluPool : torch::autograd::Function<NormReluPool> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& rows, std::int64_t report) {
    const ImageSize size = size_of(x);
    const Coefficients k(rows);
    const at::Tensor y = image(size.images, size.channels, size.height / 2, size.width / 2);
    threaded::scale_relu_pool(x.data_ptr<float>(), size, k.scale, k.shift, y.data_ptr<float>());
    context->save_for_backward({x, rows});
    keep(context, weight, bias, report);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Backward pass(context, gradients[0]);
    threaded::scale_relu_pool_sums(pass.dy, pass.x, pass.size, pass.k.scale, pass.k.shift, pass.k.mean,
                                   pass.sum, pass.dot);
    const InputGradient input = pass.input_gradient(*context);
    threaded::combine_pool(pass.dy, pass.x, pass.size, pass.k.scale, pass.k.shift, pass.k.mean,
                           input.b.data(), input.c.data(), pass.dx);
    return {pass.result, {}, {}, {}, {}};
  }
};

}  // namespace

BatchNorm::BatchNorm(int channels, double epsilon, double momentum)
    : epsilon_(epsilon), momentum_(static_cast<float>(momentum)) {
  weight = register_parameter("weight", at::empty({channels}));
  bias = register_parameter("bias", at::empty({channels}));
  running_mean = register_buffer("running_mean", at::empty({channels}));
  running_var = register_buffer("running_var", at::empty({channels}));
}

void BatchNorm::set_identity() {
  weight.fill_(1);
  bias.zero_();
  running_mean.zero_();
  running_var.fill_(1);
}

at::Tensor BatchNorm::coefficients(const at::Tensor& x, const at::Tensor& input_bias, bool training) {
  const std::int64_t channels = weight.numel();
  const ImageSize size = size_of(x);
  const at::Tensor rows = at::empty({4, channels});
  const Coefficients k(rows);
  float* running_mean_data = running_mean.data_ptr<float>();
  float* running_var_data = running_var.data_ptr<float>();
  const float* extra = input_bias.defined() ? input_bias.data_ptr<float>() : nullptr;
  if (training) threaded::channel_statistics(x.data_ptr<float>(), size.rows(), channels, k.mean, k.inverse);
  const auto n = static_cast<float>(size.rows());
  for (std::int64_t c = 0; c < channels; ++c) {
    const float added = extra == nullptr ? 0 : extra[c];
    if (training) {
      running_mean_data[c] += momentum_ * (k.mean[c] + added - running_mean_data[c]);
      running_var_data[c] += momentum_ * (k.inverse[c] * n / std::max(n - 1, 1.0F) - running_var_data[c]);
    } else {
      k.mean[c] = running_mean_data[c] - added;
      k.inverse[c] = running_var_data[c];
    }
    k.inverse[c] = static_cast<float>(1 / std::sqrt(static_cast<double>(k.inverse[c]) + epsilon_));
    k.scale[c] = weight.data_ptr<float>()[c] * k.inverse[c];
    k.shift[c] = bias.data_ptr<float>()[c] - k.mean[c] * k.scale[c];
  }
  if (training && input_bias.defined()) {
    input_bias.grad().zero_();
    report->final(input_bias.grad());
  }
  return rows;
}

at::Tensor BatchNorm::forward(const at::Tensor& x, bool training) {
  if (!by_itself())
    return at::batch_norm(x, weight, bias, running_mean, running_var, training, momentum_, epsilon_,
                          /*cudnn_enabled=*/true);
  const at::Tensor pixels = channels_last(x);
  return NormAlone::apply(pixels, weight, bias, coefficients(pixels, {}, training), report_address());
}

at::Tensor BatchNorm::relu(const at::Tensor& x, const at::Tensor& residual, bool training) {
  if (!by_itself()) return Norm::relu(x, residual, training);
  const at::Tensor pixels = channels_last(x);
  const c10::optional<at::Tensor> beside = residual.defined() ? c10::make_optional(residual) : c10::nullopt;
  return NormRelu::apply(pixels, beside, weight, bias, coefficients(pixels, {}, training), report_address());
}

at::Tensor BatchNorm::relu_pool(const Conv& conv, const at::Tensor& x, bool training) {
  if (!by_itself()) return Norm::relu_pool(conv, x, training);
  const at::Tensor pixels = channels_last(conv.forward_without_bias(x));
  return NormReluPool::apply(pixels, weight, bias, coefficients(pixels, conv.bias, training),
                             report_address());
}

}  // namespace veche::torch_model
