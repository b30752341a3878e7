#include "veche/train/pipeline/targets.h"

#include <string>

#include "veche/packed.h"

namespace veche {
namespace {

template <class T>
std::span<const T> as_items(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

// One of the first three is not empty.
Message pack_targets(const Batch& batch, MessagePool& pool) {
  return pack_bytes(pool, {std::as_bytes(batch.labels), std::as_bytes(batch.tokens),
                           std::as_bytes(batch.values), std::as_bytes(batch.weights)});
}

Batch unpack_targets(const Message& message, std::size_t samples, Task task, const Shape& shape,
                     NodeId from) {
  const std::size_t tokens = task == Task::language ? shape.size() : 1;  // that are targets of a sample
  std::size_t each = sizeof(std::int64_t);
  if (task == Task::language) each = (tokens + 1) * sizeof(std::int32_t);
  if (task == Task::regression) each = sizeof(float);
  const std::size_t weights = samples * tokens * sizeof(float);
  const bool weighted = message.size() == samples * each + weights;
  if (!weighted && message.size() != samples * each)
    throw BadMessage(from, message.size(),
                     "the targets of " + std::to_string(samples) + " samples, " +
                         std::to_string(samples * each) + " bytes without and " +
                         std::to_string(samples * each + weights) + " with weights,");
  const std::span<const std::byte> targets = message.bytes().first(samples * each);
  Batch batch{.inputs = {}, .labels = {}, .shape = shape};
  if (task == Task::language)
    batch.tokens = as_items<std::int32_t>(targets);
  else if (task == Task::regression)
    batch.values = as_items<float>(targets);
  else
    batch.labels = as_items<std::int64_t>(targets);
  if (weighted) batch.weights = as_items<float>(message.bytes().subspan(targets.size()));
  return batch;
}

}  // namespace veche
