#include "veche/model/tensor_layout.h"

#include <stdexcept>

namespace veche {
namespace {

// Calls visit(row-major index, index in the flat vector) for every element of the tensor.
template <class Visit>
void for_each_number(const TensorLayout& tensor, Visit visit) {
  std::vector<std::int64_t> index(tensor.shape.size());
  const std::size_t count = size_of(tensor);
  std::int64_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    visit(i, tensor.offset + static_cast<std::size_t>(place));
    for (std::size_t d = index.size(); d-- > 0;) {
      place += tensor.strides[d];
      if (++index[d] < tensor.shape[d]) break;
      place -= tensor.strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::size_t size_of(const TensorLayout& tensor) {
  std::size_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
  return count;
}

std::vector<float> gather(const TensorLayout& tensor, std::span<const float> flat) {
  std::vector<float> ordered(size_of(tensor));
  for_each_number(tensor, [&](std::size_t i, std::size_t place) { ordered[i] = flat[place]; });
  return ordered;
}

void scatter(const TensorLayout& tensor, std::span<const float> ordered, std::span<float> flat) {
  if (ordered.size() != size_of(tensor))
    throw std::invalid_argument("'" + tensor.name + "' has another size");
  for_each_number(tensor, [&](std::size_t i, std::size_t place) { flat[place] = ordered[i]; });
}

}  // namespace veche
