#include "veche/runtime/checkpoint/member_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "veche/base/files/files.h"
#include "veche/base/files/read_text.h"
#include "veche/errors.h"

namespace veche {

MemberCheckpoints::MemberCheckpoints(const RunFolder& folder, int nodes, const StagedPart* staged)
    : folder_(folder),
      store_(folder.checkpoints(), nodes, folder.id()),
      alone_(folder.path() / "stage", 1, folder.id()),
      staged_(staged) {}

void MemberCheckpoints::enter(std::uint64_t view, int nodes, NodeId first) {
  view_ = view;
  nodes_ = nodes;
  first_ = staged_ == nullptr ? first.value : 0;
}

void MemberCheckpoints::write(std::uint64_t number, NodeId node, const NodeState& state) {
  store_.write(number, NodeId{node.value - first_}, state);
}

void MemberCheckpoints::commit(std::uint64_t number) {
  store_.commit(number);
  tell_view(number);
}

void MemberCheckpoints::tell_view(std::uint64_t step) const {
  nlohmann::json view{{"view", view_}, {"step", step}, {"nodes", nodes_}, {"epochs", info_.epoch(step)}};
  if (staged_ != nullptr) view["stage"] = staged_->stage();
  write_file(view_file(), view.dump() + "\n");
}

nlohmann::json MemberCheckpoints::read_view() const {
  constexpr std::uintmax_t kMostView = 1 << 20;
  return nlohmann::json::parse(read_text(view_file(), view_file().string(), kMostView), nullptr, false);
}

std::optional<double> MemberCheckpoints::epochs(std::uint64_t step) const {
  std::error_code unknown;
  if (!std::filesystem::exists(view_file(), unknown)) return {};
  const nlohmann::json view = read_view();
  if (!view.is_object() || view.value("step", nlohmann::json()) != step) return {};
  const nlohmann::json told = view.value("epochs", nlohmann::json());
  if (!told.is_number() || told.get<double>() < 0) return {};
  return told.get<double>();
}

std::optional<int> MemberCheckpoints::stage() const {
  std::error_code unknown;
  if (!std::filesystem::exists(view_file(), unknown)) return {};
  const nlohmann::json view = read_view();
  const auto found = view.is_object() ? view.find("stage") : view.end();
  if (found == view.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() >= static_cast<std::uint64_t>(store_.nodes()))
    throw RequestError(view_file().string() + " does not tell which stage this member had: it is damaged");
  return found->get<int>();
}

void MemberCheckpoints::write_stage(MemberState& self) {
  if (self.learner == nullptr || !self.has_state || self.step == 0 || self.last_checkpoint == self.step)
    return;
  alone_.write(self.step, NodeId{0}, state_of(self));
  alone_.commit(self.step);
  tell_view(self.step);
}

namespace {

// The newest undamaged checkpoint of a store, and the damaged ones.
struct Found {
  explicit Found(const CheckpointStore& store) : store(store) {
    step = store.newest([this](const DamagedPiece& piece) { damaged.push_back(piece); });
  }
  void tidy(const CheckpointStore::Warn& warn) const {
    std::ranges::for_each(damaged, warn);
    store.set_aside(damaged);
    store.remove_leftovers();
  }
  const CheckpointStore& store;
  std::optional<std::uint64_t> step;
  std::vector<DamagedPiece> damaged;
};

}  // namespace

void MemberCheckpoints::refuse(const std::vector<DamagedPiece>& damaged) const {
  refuse_damaged(damaged, fmt::format("move {} and {} away to take the state of the other members",
                                      folder_.checkpoints().string(), (folder_.path() / "stage").string()));
}

std::optional<std::uint64_t> MemberCheckpoints::newest(const CheckpointStore::Warn& warn) {
  const Found found(store_);
  if (!found.step && !found.damaged.empty()) refuse(found.damaged);
  found.tidy(warn);
  return found.step;
}

bool MemberCheckpoints::read_stage(int stage, NodeState& state, const CheckpointStore::Warn& warn) {
  const Found whole(store_);
  Found alone(alone_);
  if (!whole.step && !alone.step) {
    alone.damaged.insert(alone.damaged.end(), whole.damaged.begin(), whole.damaged.end());
    if (alone.damaged.empty()) return false;
    refuse(alone.damaged);
  }
  for (const Found* found : {&whole, &std::as_const(alone)}) found->tidy(warn);
  if (alone.step && (!whole.step || *alone.step >= *whole.step))
    alone_.read(*alone.step, NodeId{0}, state);
  else
    store_.read(*whole.step, NodeId{stage}, state);
  return true;
}

}  // namespace veche
