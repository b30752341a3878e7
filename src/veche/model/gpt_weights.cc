#include "veche/model/gpt_weights.h"

#include <algorithm>
#include <set>

namespace veche {
namespace {

constexpr char kBody[] = "transformer.";
constexpr char kEmbedding[] = "transformer.wte.weight";
constexpr char kHead[] = "lm_head.weight";

bool is_mask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

const StoredTensor* find(const Safetensors& file, std::string_view name) {
  const auto found = std::ranges::find(file.tensors, name, &StoredTensor::name);
  return found == file.tensors.end() ? nullptr : &*found;
}

}  // namespace

void accept_published_gpt(Safetensors& file, const std::vector<TensorLayout>& parameters,
                          const std::string& origin) {
  std::set<std::string> wanted;
  for (const TensorLayout& tensor : parameters) wanted.insert(tensor.name);
  if (!wanted.contains(kEmbedding)) return;
  if (find(file, kEmbedding) == nullptr)
    for (StoredTensor& tensor : file.tensors)
      if (tensor.name != kHead) tensor.name.insert(0, kBody);

  const StoredTensor* const embedding = find(file, kEmbedding);
  const auto repeats_embedding = [&](const StoredTensor& tensor) {
    return tensor.name == kHead && embedding != nullptr && tensor.type == embedding->type &&
           std::ranges::equal(tensor.bytes, embedding->bytes);
  };
  const auto is_zero_bias = [&](const StoredTensor& tensor) {
    if (!tensor.name.ends_with(".bias")) return false;
    const std::string weight = tensor.name.substr(0, tensor.name.size() - 4) + "weight";
    return wanted.contains(weight) &&
           std::ranges::all_of(floats_of(tensor, origin), [](float x) { return x == 0; });
  };
  std::vector<StoredTensor> kept;
  for (const StoredTensor& tensor : file.tensors)
    if (wanted.contains(tensor.name) ||
        (!is_mask(tensor.name) && !repeats_embedding(tensor) && !is_zero_bias(tensor)))
      kept.push_back(tensor);
  file.tensors = std::move(kept);
}

}  // namespace veche
