#include "veche/runtime/members_checkpoints.h"

#include <nlohmann/json.hpp>

#include "veche/base/files.h"
#include "veche/base/read_text.h"
#include "veche/errors.h"

namespace veche {

MembersCheckpoints::MembersCheckpoints(const RunFolder& folder, int nodes, const StagedPart* staged)
    : folder_(folder),
      store_(folder.checkpoints(), nodes),
      alone_(folder.path() / "stage", 1),
      staged_(staged) {}

void MembersCheckpoints::enter(std::uint64_t view, int nodes, NodeId first) {
  view_ = view;
  nodes_ = nodes;
  first_ = staged_ == nullptr ? first.value : 0;
}

void MembersCheckpoints::write(std::uint64_t number, NodeId node, const NodeState& state) {
  store_.write(number, NodeId{node.value - first_}, state);
}

void MembersCheckpoints::commit(std::uint64_t number) {
  store_.commit(number);
  tell_view(number);
}

void MembersCheckpoints::tell_view(std::uint64_t step) const {
  nlohmann::json view{{"view", view_}, {"step", step}, {"nodes", nodes_}};
  if (staged_ != nullptr) view["stage"] = staged_->stage();
  write_file(view_file(), view.dump() + "\n");
}

std::optional<int> MembersCheckpoints::stage() const {
  constexpr std::uintmax_t kMostView = 1 << 20;
  std::error_code unknown;
  if (!std::filesystem::exists(view_file(), unknown)) return {};
  const auto view =
      nlohmann::json::parse(read_text(view_file(), view_file().string(), kMostView), nullptr, false);
  const auto found = view.is_object() ? view.find("stage") : view.end();
  if (found == view.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() >= static_cast<std::uint64_t>(store_.nodes()))
    throw RequestError(view_file().string() + " does not tell which stage this member had: it is damaged");
  return found->get<int>();
}

void MembersCheckpoints::write_stage(NodeSelf& self) {
  if (self.learner == nullptr || !self.has_state || self.step == 0 || self.last_checkpoint == self.step)
    return;
  alone_.write(self.step, NodeId{0}, state_of(self));
  alone_.commit(self.step);
  tell_view(self.step);
}

bool MembersCheckpoints::read_stage(int stage, NodeState& state,
                                    const std::function<void(const std::string&)>& warn) {
  store_.remove_unfinished();
  alone_.remove_unfinished();
  const auto whole = store_.newest(warn), alone = alone_.newest(warn);
  if (alone && (!whole || *alone >= *whole))
    alone_.read(*alone, NodeId{0}, state);
  else if (whole)
    store_.read(*whole, NodeId{stage}, state);
  return whole || alone;
}

}  // namespace veche
