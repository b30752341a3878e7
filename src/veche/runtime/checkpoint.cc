#include "veche/runtime/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "veche/base/files.h"
#include "veche/errors.h"
#include "veche/runtime/checkpoint_file.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 2;
constexpr std::string_view kFinished = "step-";
constexpr std::string_view kUnfinished = "unfinished-";

std::optional<std::uint64_t> step_of(const fs::path& folder, std::string_view prefix) {
  const std::string name = folder.filename().string();
  std::uint64_t step = 0;
  if (!name.starts_with(prefix)) return {};
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return step;
}

// Steps of the checkpoints of this kind, newest first.
std::vector<std::uint64_t> steps_of(const fs::path& folder, std::string_view prefix) {
  std::vector<std::uint64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (const auto step = step_of(entry.path(), prefix)) steps.push_back(*step);
  if (error && error != std::errc::no_such_file_or_directory)
    throw RunError(cannot_be(folder, "read", error.value()));
  std::ranges::sort(steps, std::greater{});
  return steps;
}

// Of the right sizes, its numbers to be read yet.
SavedModel model_in(const CheckpointReader& saved) {
  const auto& sizes = saved.sizes();
  if (sizes.size() < 2) throw RunError(saved.path().string() + " holds no model");
  return {std::vector<float>(sizes[0]), std::vector<float>(sizes[1])};
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) throw RunError(cannot_be(folder, "removed", error.value()));
}

// An old one that cannot be removed harms nobody; the next time it is tried again.
void try_to_remove(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, int nodes) : folder_(std::move(folder)), nodes_(nodes) {}

CheckpointStore CheckpointStore::of_run(const fs::path& folder) {
  int nodes = 0;
  for (const std::uint64_t step : steps_of(folder, kFinished)) {
    const CheckpointStore any(folder, 0);
    int found = 0;
    while (fs::exists(any.file(any.step_folder(step), NodeId{found}))) ++found;
    nodes = std::max(nodes, found);  // files of one of them may be gone
  }
  return {folder, nodes};
}

fs::path CheckpointStore::step_folder(std::uint64_t step) const {
  return folder_ / fmt::format("{}{}", kFinished, step);
}
fs::path CheckpointStore::unfinished(std::uint64_t step) const {
  return folder_ / fmt::format("{}{}", kUnfinished, step);
}
fs::path CheckpointStore::file(const fs::path& step_folder, NodeId node) const {
  return step_folder / fmt::format("node-{}", node.value);
}

void CheckpointStore::write(std::uint64_t step, NodeId node, const NodeState& state) {
  make_folder_durably(folder_);
  make_folder_durably(unfinished(step));
  write_checkpoint(file(unfinished(step), node), node, nodes_, state);
}

void CheckpointStore::commit(std::uint64_t step) {
  for (int node = 0; node < nodes_; ++node)
    if (const fs::path saved = file(unfinished(step), NodeId{node}); !fs::exists(saved))
      throw RunError(fmt::format(
          "{} is gone, though node {} saved itself there: it was removed, or run.out lies on a file system "
          "that not all hosts share",
          saved.string(), node));
  sync_folder(unfinished(step));
  remove_folder(step_folder(step));  // a damaged one of the same step that a resumed run has passed over
  rename_durably(unfinished(step), step_folder(step));
  std::size_t kept = 0;
  for (const std::uint64_t found :
       steps_of(folder_, kFinished))  // later ones were damaged, or this run would have gone on from them
    if (found > step || ++kept > kKept) try_to_remove(step_folder(found));
  for (const std::uint64_t left :
       steps_of(folder_, kUnfinished))  // by a kill; the others may be at the next step's
    if (left < step) try_to_remove(unfinished(left));
}

void CheckpointStore::remove_unfinished() const {
  for (const std::uint64_t left : steps_of(folder_, kUnfinished)) remove_folder(unfinished(left));
}

std::optional<std::uint64_t> CheckpointStore::latest() const {
  const std::vector<std::uint64_t> steps = steps_of(folder_, kFinished);
  return steps.empty() ? std::nullopt : std::optional(steps.front());
}

std::optional<std::uint64_t> CheckpointStore::newest(
    const std::function<void(const std::string&)>& warn) const {
  for (const std::uint64_t step : steps_of(folder_, kFinished)) {
    int whole = 0;
    int nodes = 1;  // until its first file has told
    while (whole < nodes && is_whole_checkpoint(file(step_folder(step), NodeId{whole}))) {
      if (whole == 0) nodes = nodes_at(step);
      ++whole;
    }
    if (whole == nodes) return step;
    warn(fmt::format("the checkpoint {} is damaged and passed over",
                     file(step_folder(step), NodeId{whole}).string()));
  }
  return {};
}

void CheckpointStore::read(std::uint64_t step, NodeId node, NodeState& state) const {
  CheckpointReader saved(file(step_folder(step), node));
  const CheckpointHeader& header = saved.header();
  saved.check_begins_with(state.vectors);
  if (header.nodes != static_cast<std::uint32_t>(nodes_) || saved.sizes().size() != state.vectors.size() ||
      (header.numbers != 0 && header.numbers != state.numbers.size()))
    saved.does_not_fit();
  state.step = header.step;
  state.train = {header.loss_sum, header.correct, header.count};
  state.sent = {header.bytes, header.messages};
  state.evaluated = {header.evaluated_loss_sum, header.evaluated_correct, header.evaluated_count};
  for (std::size_t i = 0; i < header.numbers; ++i) *state.numbers[i] = saved.numbers()[i];
  for (const auto& vector : state.vectors) saved.take(vector);
}

SavedModel CheckpointStore::read_model(std::uint64_t step, NodeId node) const {
  CheckpointReader saved(file(step_folder(step), node));
  SavedModel model = model_in(saved);
  saved.take(model.parameters);
  saved.take(model.buffers);
  return model;
}

SavedModel CheckpointStore::read_average_model(std::uint64_t step) const {
  SavedModel model = model_in(CheckpointReader(file(step_folder(step), NodeId{0})));
  NodeState state;
  state.vectors = {model.parameters, model.buffers};
  model.nodes = read_average(step, state);
  return model;
}

int CheckpointStore::nodes_at(std::uint64_t step) const {
  return static_cast<int>(CheckpointReader(file(step_folder(step), NodeId{0})).header().nodes);
}

std::vector<NodeId> CheckpointStore::averaged_at(std::uint64_t step) const {
  std::vector<NodeId> all;
  std::vector<NodeId> training;
  for (int node = 0; node < nodes_at(step); ++node) {
    all.push_back(NodeId{node});
    if (CheckpointReader(file(step_folder(step), NodeId{node})).header().trains != 0)
      training.push_back(NodeId{node});
  }
  return training.empty() ? all : training;  // somebody trains in every run
}

int CheckpointStore::read_average(std::uint64_t step, NodeState& state) const {
  const std::vector<NodeId> nodes = averaged_at(step);
  std::vector<float> one;
  std::vector<ModelAverage> averages(state.vectors.begin(), state.vectors.end());
  std::uint64_t steps = 0;  // of nodes that are asynchronous each has made its own
  for (const NodeId node : nodes) {
    CheckpointReader saved(file(step_folder(step), node));
    saved.check_begins_with(state.vectors);
    steps += saved.header().step;
    for (std::size_t i = 0; i < averages.size(); ++i) {
      one.resize(state.vectors[i].size());
      saved.take(one);
      averages[i].add(one);
    }
  }
  for (ModelAverage& average : averages) average.finish();
  state.step = steps / nodes.size();
  return static_cast<int>(nodes.size());
}

}  // namespace veche
