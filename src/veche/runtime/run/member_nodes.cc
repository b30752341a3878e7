#include "veche/runtime/run/member_nodes.h"

#include <algorithm>

#include "veche/train/views/state_pieces.h"

namespace veche {

MemberNodes::MemberNodes(const MemberPlan& plan) {
  const RunPlan alone = plan.alone();
  const bool brings_data = plan.settings().brings_data;
  const MessagePool pool;
  for (auto& learner : plan.make_learners(alone, plan.nodes_here())) {
    const DataMessage data{brings_data ? 1 : alone.training.data.partition[parts_.size()].size(),
                           plan.source().test != nullptr ? 1U : 0U};
    parts_.push_back(std::make_unique<ViewPart>(MemberState(std::move(learner), alone.training), data, pool));
  }
  if (plan.in_stages())
    first().set_stages(std::make_unique<StagedPart>(plan.settings().stages(),
                                                    [&plan](int stage) { return plan.make_stage(stage); }));
}

std::vector<NodeStatus> MemberNodes::status(
    const std::function<double(std::uint64_t step)>& epochs_at) const {
  std::vector<NodeStatus> all;
  for (const auto& part : parts_) {
    all.push_back(part->status());
    all.back().epochs = epochs_at(all.back().done_step);
  }
  return all;
}

bool MemberNodes::ended() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->ended(); });
}

void MemberNodes::discard_state() {
  for (const auto& part : parts_) part->self().has_state = false;
}

void MemberNodes::copy_first_state() const {
  const MemberState& self = first_self();
  for (const auto& part : parts_) {
    MemberState& other = part->self();
    if (&other == &self) continue;
    other.common = self.common;
    const StatePieces from(first_self()), to(other);
    for (std::size_t i = 0; i < from.count(); ++i) to.put(i, from[i]);
    other.step = self.step;
    other.has_state = true;
  }
}

void MemberNodes::run(const View& view, const PlanOfView& plan, const NodeServices& services) const {
  const std::vector<NodeId> here = view.cluster->here();
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId id : here) endpoints.push_back(view.cluster->endpoint(id));
  view.cluster->run([&](NodeId id) {
    const auto i = static_cast<std::size_t>(id.value - here.front().value);
    parts_[i]->run(std::move(endpoints[i]), view, plan, services);
  });
}

void MemberNodes::leave_view() const {
  for (const auto& part : parts_) part->leave();
}

}  // namespace veche
