#include "veche/model/torch/layers/plain_gradients.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

#include "veche/model/torch/layers/layers.h"
#include "veche/model/torch/layers/placeholder.h"

namespace veche::torch_model {

using torch::autograd::variable_list;

PlainGradients::PlainGradients(torch::nn::Module& network, const GradientReport& report) {
  std::unordered_set<const c10::TensorImpl*> seen;
  for (const auto& module : network.modules()) {
    const auto* layer = dynamic_cast<const Layer*>(module.get());
    if (layer != nullptr && layer->by_itself()) continue;
    for (const at::Tensor& parameter : module->parameters(/*recurse=*/false)) {
      // Skips parameters that are frozen, belong to another stage, or are shared with a module
      // already seen.
      if (!parameter.requires_grad() || is_placeholder(parameter) ||
          !seen.insert(parameter.unsafeGetTensorImpl()).second)
        continue;
      const at::Tensor gradient = parameter.grad();
      gradients_.push_back(gradient);
      // Runs once per pass, however often the parameter was used: autograd sums first.
      const auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
      accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [&report, gradient](const variable_list& outputs, const variable_list&) {
            report.final(gradient);
            return outputs;
          }));
      accumulators_.push_back(accumulator);
    }
  }
}

void PlainGradients::zero() {
  at::NoGradGuard guard;
  for (at::Tensor& gradient : gradients_) gradient.zero_();
}

}  // namespace veche::torch_model
