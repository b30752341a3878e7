#include "veche/model/torch/layers/folded_convs.h"

namespace veche::torch_model {

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
    const MutexLock lock(mutex_);
    auto found = folded_.find(&conv);
    if (found == folded_.end()) found = folded_.emplace(&conv, fold(conv, norm())).first;
    Folded& folded = found->second;
    bias = folded.bias;
    for (const Ready& size : folded.sizes)
      if (size.plan->fits(conv.options(), images.sizes(), folded.weight, true, false, epilogue)) ready = size;
    if (ready.plan == nullptr) {
      ready.plan = plans_.find_or_make(conv.options(), images.sizes(), folded.weight, true, false, epilogue);
      ready.weight = ready.plan->ordered(folded.weight);
      folded.sizes.push_back(ready);
    }
  }
  return ready.plan->forward_ordered(images, ready.weight, bias,
                                     summand.defined() ? channels_last(summand) : at::Tensor());
}

}  // namespace veche::torch_model
