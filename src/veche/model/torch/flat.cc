#include "veche/model/torch/flat.h"

namespace veche::torch_model {
namespace {

// Counters and such stay where they are.
Named floats(const Named& all) {
  Named some;
  for (const auto& item : all)
    if (item.value().scalar_type() == at::kFloat) some.insert(item.key(), item.value());
  return some;
}

std::vector<TensorLayout> lay_out(const Named& named) {
  std::vector<TensorLayout> layout;
  std::size_t offset = 0;
  for (const auto& item : named) {
    const auto format =
        item.value().dim() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    const at::Tensor ordered = at::empty(item.value().sizes(), at::TensorOptions().memory_format(format));
    layout.push_back({item.key(), ordered.sizes().vec(), ordered.strides().vec(), offset});
    offset += static_cast<std::size_t>(ordered.numel());
  }
  return layout;
}

std::int64_t length(const std::vector<TensorLayout>& layout) {
  std::int64_t sum = 0;
  for (const TensorLayout& item : layout) sum += c10::multiply_integers(item.shape);
  return sum;
}

at::Tensor view(const at::Tensor& flat, const TensorLayout& item) {
  return at::as_strided(flat, item.shape, item.strides, static_cast<std::int64_t>(item.offset));
}

void move(at::Tensor& tensor, const at::Tensor& place) {
  place.copy_(tensor.detach());
  tensor.set_data(place);
}

}  // namespace

std::vector<TensorLayout> float_layout(const Named& tensors) { return lay_out(floats(tensors)); }

Flat::Flat(torch::nn::Module& network)
    : parameter_layout_(float_layout(network.named_parameters())),
      buffer_layout_(float_layout(network.named_buffers())),
      parameters_(at::zeros({length(parameter_layout_)})),
      gradients_(at::zeros({length(parameter_layout_)})),
      buffers_(at::zeros({length(buffer_layout_)})) {
  at::NoGradGuard guard;
  std::size_t i = 0;
  for (auto& item : floats(network.named_parameters())) {
    move(item.value(), view(parameters_, parameter_layout_[i]));
    item.value().mutable_grad() = view(gradients_, parameter_layout_[i]);
    ++i;
  }
  i = 0;
  for (auto& item : floats(network.named_buffers())) move(item.value(), view(buffers_, buffer_layout_[i++]));
}

}  // namespace veche::torch_model
