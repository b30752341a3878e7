#include "veche/model/torch/learner/tensor_message.h"

#include <array>

#include "veche/errors.h"
#include "veche/model/stage.h"
#include "veche/packed.h"

namespace veche::torch_model {
namespace {

constexpr std::size_t kMostDimensions = 6;

// One cache line, so that the data after it are aligned for vector instructions.
struct alignas(64) TensorHeader {
  std::array<std::int64_t, kMostDimensions> sizes = {};
  std::uint8_t dimensions = 0;
  std::int8_t type = 0;
  std::uint8_t channels_last = 0;
};
static_assert(sizeof(TensorHeader) == 64);

[[noreturn]] void refuse(const std::string& why) { throw DamagedActivation("a tensor that " + why); }

at::MemoryFormat order_of(const TensorHeader& header) {
  return header.channels_last != 0 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

}  // namespace

Message to_message(const at::Tensor& tensor, MessagePool& pool) {
  if (tensor.dim() > static_cast<std::int64_t>(kMostDimensions))
    throw RunError("a tensor between two stages has " + std::to_string(tensor.dim()) +
                   " dimensions, and 6 are the most");
  TensorHeader header;
  header.dimensions = static_cast<std::uint8_t>(tensor.dim());
  std::copy_n(tensor.sizes().begin(), tensor.dim(), header.sizes.begin());
  header.type = static_cast<std::int8_t>(tensor.scalar_type());
  header.channels_last = tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
  const at::Tensor dense = tensor.detach().to(at::kCPU).contiguous(order_of(header));
  return pack(pool, header, {static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()});
}

at::Tensor to_tensor(const Message& message) {
  const auto unpacked = try_unpack<TensorHeader>(message);
  if (!unpacked) refuse("has no valid header");
  const auto& [header, data] = *unpacked;
  const auto type = static_cast<at::ScalarType>(header.type);
  if (header.dimensions > kMostDimensions || header.type < 0 || type >= at::ScalarType::Undefined ||
      (header.channels_last != 0 && header.dimensions != 4))
    refuse("has no valid header");
  const std::vector<std::int64_t> sizes(header.sizes.begin(), header.sizes.begin() + header.dimensions);
  std::size_t bytes = c10::elementSize(type);
  for (const std::int64_t size : sizes) {
    if (size < 0 || (size > 0 && bytes > data.size() / static_cast<std::size_t>(size)))
      refuse("is shorter than it says");
    bytes *= static_cast<std::size_t>(size);
  }
  if (data.size() != bytes) refuse("is not as long as it says");
  std::vector<std::int64_t> strides(sizes.size(), 1);
  if (header.channels_last != 0) {
    strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
  } else {
    for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  }
  auto* numbers = const_cast<std::byte*>(data.data());
  return at::from_blob(
      numbers, sizes, strides, [message](void*) {}, at::TensorOptions(type));
}

}  // namespace veche::torch_model
