#include "veche/model/torch/folded_convs.h"

namespace veche::torch_model {

namespace {

constexpr std::size_t kMostSharedPlans = 512;

}  // namespace

std::shared_ptr<const ConvPlan> ConvPlans::plan(const ConvOptions& options, at::IntArrayRef images,
                                                const at::Tensor& weight, Epilogue epilogue) {
  const std::lock_guard lock(mutex_);
  for (const Known& known : plans_)
    if (known.options == options && known.epilogue == epilogue && known.plan->fits(images, weight, true))
      return known.plan;
  // Sizes without end start again.
  if (plans_.size() == kMostSharedPlans) plans_.clear();
  plans_.push_back(
      {options, epilogue, std::make_shared<const ConvPlan>(options, images, weight, true, epilogue)});
  return plans_.back().plan;
}

FoldedConvs::Folded FoldedConvs::fold(const Conv& conv, const ChannelScale& norm) {
  const auto channels = static_cast<std::int64_t>(norm.scale.size());
  const auto per_channel = [&](const std::vector<float>& numbers) {
    return at::from_blob(const_cast<float*>(numbers.data()), {channels}, at::kFloat);
  };
  const at::Tensor scale = per_channel(norm.scale);
  Folded folded;
  folded.weight = conv.weight * scale.view({channels, 1, 1, 1});
  folded.bias = per_channel(norm.shift).clone();
  if (conv.bias.defined()) folded.bias.addcmul_(conv.bias, scale);
  return folded;
}

at::Tensor FoldedConvs::run(const Conv& conv, const std::function<ChannelScale()>& norm, const at::Tensor& x,
                            Epilogue epilogue, const at::Tensor& summand) {
  const at::Tensor images = channels_last(x);
  Ready ready;
  at::Tensor bias;
  {
    const std::lock_guard lock(mutex_);
    auto found = folded_.find(&conv);
    if (found == folded_.end()) found = folded_.emplace(&conv, fold(conv, norm())).first;
    Folded& folded = found->second;
    bias = folded.bias;
    for (const Ready& size : folded.sizes)
      if (size.plan->fits(images.sizes(), folded.weight, true)) ready = size;
    if (ready.plan == nullptr) {
      ready.plan = plans_.plan(conv.options(), images.sizes(), folded.weight, epilogue);
      ready.weight = ready.plan->ordered(folded.weight);
      folded.sizes.push_back(ready);
    }
  }
  return ready.plan->forward_ordered(images, ready.weight, bias,
                                     summand.defined() ? channels_last(summand) : at::Tensor());
}

}  // namespace veche::torch_model
