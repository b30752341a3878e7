#include "veche/runtime/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/runtime/checkpoint/checkpoint_file.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 2;
constexpr std::string_view kFinished = "step-";
constexpr std::string_view kUnfinished = "unfinished-";
constexpr std::string_view kDamaged = "damaged-";
constexpr std::size_t kMostNamed = 3;  // damaged files of a checkpoint; of a thousand nodes all may be

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

std::string DamagedPiece::sentence() const {
  return fmt::format("the checkpoint {} is damaged and passed over: {}", file.string(), why);
}

void refuse_damaged(const std::vector<DamagedPiece>& damaged, const std::string& remedy) {
  std::string all;
  for (const DamagedPiece& piece : damaged)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", piece.file.string(), piece.why);
  throw RequestError(
      fmt::format("no checkpoint of the run is whole ({}): put whole files back, or {}", all, remedy));
}

CheckpointStore::CheckpointStore(fs::path folder, int nodes, std::uint64_t run)
    : folder_(std::move(folder)), nodes_(nodes), run_(run) {}

CheckpointStore CheckpointStore::of_run(const fs::path& folder, std::uint64_t run) {
  int nodes = 0;
  for (const std::uint64_t step : steps_of(folder, kFinished)) {
    const CheckpointStore any(folder, 0);
    int found = 0;
    while (fs::exists(any.file(any.step_folder(step), NodeId{found}))) ++found;
    nodes = std::max(nodes, found);  // files of one of them may be gone
  }
  return {folder, nodes, run};
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
  write_checkpoint(file(unfinished(step), node),
                   {.node = node, .nodes = nodes_, .checkpoint = step, .run = run_}, state);
}

void CheckpointStore::commit(std::uint64_t step) {
  for (int node = 0; node < nodes_; ++node)
    if (const fs::path saved = file(unfinished(step), NodeId{node}); !fs::exists(saved))
      throw RunError(fmt::format(
          "{} is gone, though node {} saved itself there: it was removed, or run.out lies on a file system "
          "that not all hosts share",
          saved.string(), node));
  sync_folder(unfinished(step));
  remove_folder(step_folder(step));  // the same step of other nodes, whose average this run went on from
  rename_durably(unfinished(step), step_folder(step));
  std::size_t kept = 0;
  for (const std::uint64_t found :
       steps_of(folder_, kFinished))  // later ones are of other nodes, who made other steps
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

// How many files there are, the first whole one tells.
std::vector<DamagedPiece> CheckpointStore::damage_at(std::uint64_t step) const {
  std::vector<DamagedPiece> damaged;
  CheckpointPiece expected{.checkpoint = step, .run = run_};
  std::error_code unknown;
  for (int node = 0;; ++node) {
    const fs::path piece = file(step_folder(step), NodeId{node});
    if (expected.nodes > 0 ? node >= expected.nodes : node > 0 && !fs::exists(piece, unknown)) break;
    expected.node = NodeId{node};
    if (std::string why = damage_of(piece, expected); !why.empty())
      damaged.push_back({step, piece, std::move(why)});
  }
  if (damaged.size() > kMostNamed) {
    damaged[kMostNamed - 1].why += fmt::format(" (and {} more files)", damaged.size() - kMostNamed);
    damaged.resize(kMostNamed);
  }
  return damaged;
}

std::optional<std::uint64_t> CheckpointStore::newest(const Warn& warn) const {
  for (const std::uint64_t step : steps_of(folder_, kFinished)) {
    const std::vector<DamagedPiece> damaged = damage_at(step);
    if (damaged.empty()) return step;
    std::ranges::for_each(damaged, warn);
  }
  return {};
}

std::vector<fs::path> CheckpointStore::set_aside(const std::vector<DamagedPiece>& damaged) const {
  std::vector<fs::path> places;
  std::error_code unknown;
  for (const DamagedPiece& piece : damaged) {
    const fs::path from = step_folder(piece.step);
    if (!fs::exists(from, unknown)) continue;  // another file of the same checkpoint
    const std::string name = std::string(kDamaged) + from.filename().string();
    fs::path to = folder_ / name;
    for (int i = 2; fs::exists(fs::symlink_status(to, unknown)); ++i)
      to = folder_ / fmt::format("{}.{}", name, i);
    rename_durably(from, to);
    places.push_back(to);
  }
  return places;
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
  for (std::size_t i = 0; i < std::min(saved.counters().size(), state.counters.size()); ++i)
    *state.counters[i] = saved.counters()[i];
  for (std::size_t i = 0; i < header.numbers; ++i) *state.numbers[i] = saved.numbers()[i];
  for (const auto& vector : state.vectors) saved.take(vector);
}

// Of the right sizes, its numbers to be read yet.
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

int CheckpointStore::nodes_at(std::uint64_t step) const {
  return static_cast<int>(CheckpointReader(file(step_folder(step), NodeId{0})).header().nodes);
}

std::uint64_t CheckpointStore::run_at(std::uint64_t step) const {
  return CheckpointReader(file(step_folder(step), NodeId{0})).header().run;
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
    // A whole model of another length is as long as the next one's.
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
  return training.empty() ? all : training;  // somebody trains in every run
}

// Returns its step.
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
    // All but the buffers are as long as the parameters.
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
  std::uint64_t steps = 0;  // of nodes that are asynchronous each has made its own
  for (const int replica : replicas) {
    steps += read_replica(step, replica, stages, place, room);
    for (std::size_t i = 0; i < averages.size(); ++i) averages[i].add(one[i]);
  }
  for (ModelAverage& average : averages) average.finish();
  state.step = steps / replicas.size();
  return static_cast<int>(replicas.size());
}

}  // namespace veche
