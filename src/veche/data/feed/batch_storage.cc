#include "veche/data/feed/batch_storage.h"

#include <numeric>
#include <span>

namespace veche {

void BatchStorage::make_room(const Dataset& data, std::size_t most, What what) {
  from_ = {.data = &data,
           .tokens = data.tokens(),
           .values = data.values(),
           .weights = data.weights(),
           .bulk = dynamic_cast<const BulkSamples*>(&data),
           .shape = data.shape(),
           .targets = data.targets_per_sample(),
           .inputs = what == What::samples && data.tokens() == nullptr};
  const auto room = [](auto& memory, std::size_t size) {
    if (memory.size() < size) memory.resize(size);
  };
  if (from_.tokens != nullptr) room(tokens_, most * (from_.shape.size() + 1));
  if (from_.inputs) room(inputs_, most * from_.shape.size());
  if (from_.values != nullptr) room(values_, most);
  if (data.task() == Task::classification) room(labels_, most);
  if (from_.weights != nullptr) room(weights_, most * from_.targets);
}

void BatchStorage::read(std::size_t index, std::size_t place, const RandomStream* random) {
  const std::size_t size = from_.shape.size();
  if (from_.weights != nullptr)
    from_.weights->read_weights(index, std::span(weights_).subspan(place * from_.targets, from_.targets));
  if (from_.tokens != nullptr) {
    const auto window = std::span(tokens_).subspan(place * (size + 1), size + 1);
    if (random == nullptr) return from_.tokens->read_tokens(index, window);
    return from_.tokens->read_moved(index, RandomStream(*random).uniform(), window);
  }
  if (from_.values != nullptr)
    values_[place] = from_.values->value(index);
  else
    labels_[place] = from_.data->label(index);
  if (!from_.inputs) return;
  const std::span<float> out = std::span(inputs_).subspan(place * size, size);
  if (random != nullptr)
    reader_.read(*from_.data, index, *random, out);
  else
    reader_.read(*from_.data, index, out);
}

void BatchStorage::read_many(std::span<const std::uint32_t> samples) {
  from_.bulk->read_many(samples, {.inputs = from_.inputs ? inputs_.data() : nullptr,
                                  .labels = from_.values == nullptr ? labels_.data() : nullptr,
                                  .values = from_.values != nullptr ? values_.data() : nullptr});
}

void BatchStorage::read_many(std::size_t from, std::size_t count) {
  if (numbers_.size() < count) numbers_.resize(count);
  const std::span<std::uint32_t> samples = std::span(numbers_).first(count);
  std::iota(samples.begin(), samples.end(), static_cast<std::uint32_t>(from));
  read_many(samples);
}

Batch BatchStorage::batch(std::size_t count) const {
  const std::size_t size = from_.shape.size();
  Batch batch{.inputs = {}, .labels = {}, .shape = from_.shape};
  if (from_.weights != nullptr) batch.weights = std::span(weights_).first(count * from_.targets);
  if (from_.tokens != nullptr) {
    batch.tokens = std::span(tokens_).first(count * (size + 1));
    return batch;
  }
  if (from_.inputs) batch.inputs = std::span(inputs_).first(count * size);
  if (from_.values != nullptr)
    batch.values = std::span(values_).first(count);
  else
    batch.labels = std::span(labels_).first(count);
  return batch;
}

}  // namespace veche
