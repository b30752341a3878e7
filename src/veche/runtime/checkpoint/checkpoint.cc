#include "veche/runtime/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/runtime/checkpoint/checkpoint_file.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 2;
constexpr std::string_view kFinished = "step-";
constexpr std::string_view kUnfinished = "unfinished-";
constexpr std::string_view kDamaged = "damaged-";
constexpr std::size_t kMostNamed = 3;  // damaged files of one checkpoint

std::optional<std::uint64_t> step_of(const fs::path& folder, std::string_view prefix) {
  const std::string name = folder.filename().string();
  std::uint64_t step = 0;
  if (!name.starts_with(prefix)) return {};
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return step;
}

// Steps of the checkpoints whose names start with `prefix`, newest first.
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

// A failure does no harm: the next commit tries again.
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
    nodes = std::max(nodes, found);  // a checkpoint may lack some of its files
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
  // The same step may have been saved by another number of nodes, whose average this run was
  // resumed from.
  remove_folder(step_folder(step));
  rename_durably(unfinished(step), step_folder(step));
  // Later steps were saved by another number of nodes, before the run was resumed.
  for (const std::uint64_t found : steps_of(folder_, kFinished))
    if (found > step) try_to_remove(step_folder(found));
  remove_all_but_newest();
  // Left by a kill. Later ones may be in use by nodes that are ahead.
  for (const std::uint64_t left : steps_of(folder_, kUnfinished))
    if (left < step) try_to_remove(unfinished(left));
}

void CheckpointStore::remove_all_but_newest() const {
  for (const std::uint64_t old : steps_of(folder_, kFinished) | std::views::drop(kKept))
    try_to_remove(step_folder(old));
}

void CheckpointStore::remove_leftovers() const {
  for (const std::uint64_t left : steps_of(folder_, kUnfinished)) remove_folder(unfinished(left));
  remove_all_but_newest();
}

std::optional<std::uint64_t> CheckpointStore::latest() const {
  const std::vector<std::uint64_t> steps = steps_of(folder_, kFinished);
  return steps.empty() ? std::nullopt : std::optional(steps.front());
}

// The first undamaged file says how many files there are.
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
  if (saved.counters().size() == state.counters.size() + ErrorSums{}.size())
    set_error_sums(state, std::span(saved.counters()).last(ErrorSums{}.size()));
  for (std::size_t i = 0; i < header.numbers; ++i) *state.numbers[i] = saved.numbers()[i];
  for (const auto& vector : state.vectors) saved.take(vector);
}

int CheckpointStore::nodes_at(std::uint64_t step) const {
  return static_cast<int>(CheckpointReader(file(step_folder(step), NodeId{0})).header().nodes);
}

std::uint64_t CheckpointStore::run_at(std::uint64_t step) const {
  return CheckpointReader(file(step_folder(step), NodeId{0})).header().run;
}

}  // namespace veche
