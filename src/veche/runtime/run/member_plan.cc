#include "veche/runtime/run/member_plan.h"

#include "veche/data/table/open_table.h"
#include "veche/errors.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

// As many nodes in all as the view has.
Settings with_nodes(Settings settings, int nodes) {
  settings.cluster.nodes = nodes;
  find_strategy(settings.strategy.name).fit_to_nodes(settings.strategy, nodes);
  return settings;
}

NodeFolders open_checked(const Settings& settings, const MakeLearner& own_learner,
                         std::shared_ptr<const TableScheme> scheme) {
  check_for_views(settings);
  if (settings.is_cut() && own_learner)
    throw RequestError("pipeline.stages: a learner of this program's own cannot be cut into stages");
  return open_data_for_views(settings, std::move(scheme));
}

}  // namespace

MemberPlan::MemberPlan(Settings settings, MakeLearner own_learner, std::shared_ptr<const TableScheme> scheme)
    : settings_(std::move(settings)),
      own_learner_(std::move(own_learner)),
      in_stages_(settings_.is_cut()),
      nodes_here_(in_stages_ ? 1 : settings_.nodes()),
      own_data_(!settings_.brings_data && settings_.grid.data == MemberData::own),
      data_(open_checked(settings_, own_learner_, scheme)),
      final_scheme_(scheme != nullptr) {}

void MemberPlan::set_scheme(std::shared_ptr<const TableScheme> scheme) {
  veche::set_scheme(data_.source, std::move(scheme), settings_.data);
  final_scheme_ = true;
}

bool MemberPlan::is_async() const {
  return !in_stages_ && find_strategy(settings_.strategy.name).pace(settings_.strategy) != Pace::in_step;
}

Shared MemberPlan::shared_state() const {
  return shared_by(find_strategy(settings_.strategy.name), settings_.strategy);
}

RunPlan MemberPlan::alone() const {
  NodesInView nodes{.first_here = 0, .here = nodes_here_};
  if (own_data_) nodes.samples.assign(static_cast<std::size_t>(nodes_here_), 1);
  return {settings_, data_, nodes};
}

std::unique_ptr<const TrainingPlan> MemberPlan::for_view(const View& view, std::span<const DataMessage> data,
                                                         NodeId first) const {
  const EpochCount made = epochs_at_start(view);
  NodesInView nodes{
      .first_here = first.value, .here = nodes_here_, .epochs_at = made.step, .epochs_before = made.epochs};
  for (const DataMessage& one : data) {
    if (own_data_) nodes.samples.push_back(one.samples);
    nodes.test = nodes.test && one.has_test != 0;
  }
  const RunPlan plan(with_nodes(settings_, static_cast<int>(data.size())), data_, nodes);
  return std::make_unique<const TrainingPlan>(plan.training);
}

std::vector<std::unique_ptr<Learner>> MemberPlan::make_learners(const RunPlan& plan, int count) const {
  LearnerFactory factory(plan, {.own = own_learner_});
  std::vector<std::unique_ptr<Learner>> learners;
  for (int i = 0; i < count; ++i)
    learners.push_back(factory.make(NodeId{i}, learners.empty() ? nullptr : learners.front().get()));
  return learners;
}

std::unique_ptr<Learner> MemberPlan::make_spare_learner() const {
  return std::move(make_learners(alone(), 1).front());
}

MemberState MemberPlan::make_stage(int stage) const {
  const RunPlan plan = alone();
  return {LearnerFactory(plan, {}).make(NodeId{stage}), plan.training};
}

}  // namespace veche
