// Reading whole models from checkpoints: of one replica, or the average of all.

#include <algorithm>
#include <memory>

#include "veche/errors.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/checkpoint/checkpoint_file.h"
#include "veche/vector_math.h"

namespace veche {

// A model of the right sizes, whose numbers are still to be read.
SavedModel CheckpointStore::empty_model(std::uint64_t step, int stages) const {
  SavedModel model;
  for (int stage = 0; stage < stages; ++stage) {
    const CheckpointReader saved(file(step_folder(step), NodeId{stage}));
    const auto& sizes = saved.sizes();
    if (sizes.size() < 2) throw RunError(saved.path().string() + " holds no model");
    model.parameters.resize(model.parameters.size() + sizes[0]);
    model.buffers.resize(model.buffers.size() + sizes[1]);
  }
  return model;
}

SavedModel CheckpointStore::read_model(std::uint64_t step, NodeId replica, int stages) const {
  SavedModel model = empty_model(step, stages);
  read_replica(step, replica.value, stages, {}, {model.parameters, model.buffers});
  return model;
}

SavedModel CheckpointStore::read_average_model(std::uint64_t step, int stages) const {
  SavedModel model = empty_model(step, stages);
  NodeState state;
  state.vectors = {model.parameters, model.buffers};
  model.nodes = read_average(step, state, stages, {});
  return model;
}

std::vector<std::size_t> CheckpointStore::parts_at(std::uint64_t step, std::size_t parameters) const {
  std::vector<std::size_t> parts;
  std::size_t sum = 0;
  const int nodes = nodes_at(step);
  while (static_cast<int>(parts.size()) < nodes && (parts.empty() || sum < parameters)) {
    const CheckpointReader saved(file(step_folder(step), NodeId{static_cast<int>(parts.size())}));
    if (saved.sizes().empty()) throw RunError(saved.path().string() + " holds no model");
    parts.push_back(saved.sizes()[0]);
    sum += parts.back();
    // Parts that do not add up to the length belong to another model.
    if (sum > parameters || (sum < parameters && static_cast<int>(parts.size()) == nodes))
      saved.does_not_fit();
  }
  return parts;
}

std::vector<int> CheckpointStore::averaged_at(std::uint64_t step, int stages) const {
  std::vector<int> all;
  std::vector<int> training;
  for (int replica = 0; replica < nodes_at(step) / stages; ++replica) {
    all.push_back(replica);
    if (CheckpointReader(file(step_folder(step), NodeId{replica * stages})).header().trains != 0)
      training.push_back(replica);
  }
  return training.empty() ? all : training;
}

// Returns the step of the replica.
std::uint64_t CheckpointStore::read_replica(std::uint64_t step, int replica, int stages,
                                            std::optional<Place> place,
                                            const std::vector<std::span<float>>& vectors) const {
  std::vector<std::unique_ptr<CheckpointReader>> parts;
  for (int stage = 0; stage < stages; ++stage)
    parts.push_back(
        std::make_unique<CheckpointReader>(file(step_folder(step), NodeId{replica * stages + stage})));
  std::vector<float> whole;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    std::size_t length = 0;
    for (const auto& part : parts) {
      if (part->sizes().size() <= i) part->does_not_fit();
      length += part->sizes()[i];
    }
    // All vectors but the buffers are as long as the parameters.
    const std::size_t from = !place ? 0 : i == 1 ? place->buffer : place->parameter;
    if (place ? from + vectors[i].size() > length : vectors[i].size() != length)
      parts.front()->does_not_fit();
    whole.resize(length);
    std::size_t at = 0;
    for (const auto& part : parts) {
      part->take(std::span(whole).subspan(at, part->sizes()[i]));
      at += part->sizes()[i];
    }
    std::ranges::copy(std::span(whole).subspan(from, vectors[i].size()), vectors[i].begin());
  }
  return parts.front()->header().step;
}

int CheckpointStore::read_average(std::uint64_t step, NodeState& state, int stages,
                                  std::optional<Place> place) const {
  const std::vector<int> replicas = averaged_at(step, stages);
  std::vector<std::vector<float>> one;
  for (const auto& vector : state.vectors) one.emplace_back(vector.size());
  const std::vector<std::span<float>> room(one.begin(), one.end());
  std::vector<ModelAverage> averages(state.vectors.begin(), state.vectors.end());
  std::uint64_t steps = 0;  // the sum; asynchronous nodes have made different numbers of steps
  for (const int replica : replicas) {
    steps += read_replica(step, replica, stages, place, room);
    for (std::size_t i = 0; i < averages.size(); ++i) averages[i].add(one[i]);
  }
  for (ModelAverage& average : averages) average.finish();
  state.step = steps / replicas.size();
  return static_cast<int>(replicas.size());
}

}  // namespace veche
