#include "veche/model/torch/learner/flat.h"

#include <unordered_set>

#include "veche/model/torch/layers/placeholder.h"

namespace veche::torch_model {
namespace {

// The tensors selected by `wanted`, except non-float ones such as counters, which stay in place,
// and placeholders of another stage.
template <class Wanted>
Named chosen(const Named& all, Wanted wanted) {
  Named some;
  std::unordered_set<const c10::TensorImpl*> seen;
  for (const auto& item : all)
    if (item.value().scalar_type() == at::kFloat && !is_placeholder(item.value()) && wanted(item.value()) &&
        seen.insert(item.value().unsafeGetTensorImpl()).second)
      some.insert(item.key(), item.value());
  return some;
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

Named trained_tensors(const torch::nn::Module& network) {
  return chosen(network.named_parameters(), [](const at::Tensor& tensor) { return tensor.requires_grad(); });
}

Named other_tensors(const torch::nn::Module& network) {
  Named others = chosen(network.named_buffers(), [](const at::Tensor&) { return true; });
  others.update(
      chosen(network.named_parameters(), [](const at::Tensor& tensor) { return !tensor.requires_grad(); }));
  return others;
}

std::vector<TensorLayout> lay_out(const Named& tensors, bool channels_last) {
  std::vector<TensorLayout> layout;
  std::size_t offset = 0;
  for (const auto& item : tensors) {
    const auto format = channels_last && item.value().dim() == 4 ? at::MemoryFormat::ChannelsLast
                                                                 : at::MemoryFormat::Contiguous;
    const at::Tensor ordered = at::empty(item.value().sizes(), at::TensorOptions().memory_format(format));
    layout.push_back({item.key(), ordered.sizes().vec(), ordered.strides().vec(), offset});
    offset += static_cast<std::size_t>(ordered.numel());
  }
  return layout;
}

Flat::Flat(const torch::nn::Module& network, bool channels_last)
    : parameter_layout_(lay_out(trained_tensors(network), channels_last)),
      buffer_layout_(lay_out(other_tensors(network), channels_last)),
      parameters_(at::zeros({length(parameter_layout_)})),
      gradients_(at::zeros({length(parameter_layout_)})),
      buffers_(at::zeros({length(buffer_layout_)})) {
  bind(network, parameters_, gradients_, buffers_);
}

void Flat::bind(const torch::nn::Module& network, const at::Tensor& parameters, const at::Tensor& gradients,
                const at::Tensor& buffers) const {
  at::NoGradGuard guard;
  std::size_t i = 0;
  for (auto& item : trained_tensors(network)) {
    move(item.value(), view(parameters, parameter_layout_[i]));
    item.value().mutable_grad() = view(gradients, parameter_layout_[i]);
    ++i;
  }
  i = 0;
  for (auto& item : other_tensors(network)) move(item.value(), view(buffers, buffer_layout_[i++]));
}

void Flat::move_to_device(torch::nn::Module& network, const at::Device& device) {
  if (device.is_cuda())  // copies from pinned memory are faster
    for (at::Tensor* vector : {&parameters_, &gradients_, &buffers_}) *vector = vector->pin_memory();
  const auto like = [&](const at::Tensor& vector) { return at::zeros(vector.sizes(), device); };
  device_copies_ = {like(parameters_), like(gradients_), like(buffers_)};
  for (auto& item : trained_tensors(network))
    item.value().mutable_grad() = at::Tensor();  // belongs to the other device
  network.to(device);                            // moves counters and other non-float tensors too
  bind(network, device_copies_->parameters, device_copies_->gradients, device_copies_->buffers);
}

void Flat::copy_to_device() const {
  if (!device_copies_) return;
  device_copies_->parameters.copy_(parameters_);
  device_copies_->buffers.copy_(buffers_);
}

void Flat::copy_from_device() const {
  if (!device_copies_) return;
  gradients_.copy_(device_copies_->gradients);
  buffers_.copy_(device_copies_->buffers);
}

}  // namespace veche::torch_model
