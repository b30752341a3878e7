#include <fmt/format.h>

#include "veche/errors.h"
#include "veche/runtime/plan/data_plan.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/plan/strategy_choice.h"
#include "veche/runtime/plan/topology_of.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& instead) {
  throw RequestError(fmt::format("{} cannot be used where members come and go; {}", what, instead));
}

bool mixes_along_edges(const StrategyInfo& info, const Options& /*options*/) {
  return info.graph == StrategyInfo::Graph::undirected;
}

// Runs whose model is cut into stages.
void check_stages_for_views(const Settings& settings, const StrategyInfo& info) {
  if (is_async(settings))
    refuse(fmt::format("pipeline.stages with the asynchronous form of strategy.name = \"{}\"", info.name),
           "choose the one in step");
  if (const auto state = info.common_state(settings.strategy))
    refuse("pipeline.stages with " + state->name, state->instead);
  // Stages whose nodes have equal models complete a step that other stages have made, by the exact
  // mean of the gradients they have kept (train/views/partial_step.cc): a codec's errors and
  // gradients that were delayed are not there any more.
  const Replicas replicas = info.replicas(settings.strategy);
  const bool completes = replicas == Replicas::equal || replicas == Replicas::served;
  if (completes && settings.compress.has_codec())
    refuse(fmt::format("pipeline.stages with compress.codec = \"{}\" and strategy.name = \"{}\"",
                       settings.compress.codec, info.name),
           fmt::format("leave out compress.codec, or choose strategy.name = \"{}\"",
                       suggest_strategy(mixes_along_edges)));
  if (const auto refused = info.refuses_completed_steps(settings.strategy); completes && refused)
    refuse("pipeline.stages with " + refused->reason, refused->instead);
  if (settings.grid.data == MemberData::own)
    refuse("pipeline.stages with grid.data = \"own\", as the last stage needs the first one's labels,",
           "choose grid.data = \"common\"");
  if (settings.nodes() != settings.stages())
    refuse(fmt::format("pipeline.stages with cluster.nodes = {}", settings.nodes()),
           "each member has one stage: leave out cluster.nodes");
}

}  // namespace

void check_for_views(const Settings& settings) {
  const StrategyInfo& info = strategy_of(settings);
  const std::string strategy = fmt::format("strategy.name = \"{}\"", info.name);
  if (info.one_learner || info.replicas(settings.strategy) == Replicas::bound)
    refuse(strategy, fmt::format("choose another, such as {} or {}", suggest_strategy(has_equal_replicas),
                                 suggest_strategy(mixes_along_edges)));
  if (const auto refused = info.refuses_grid(settings.strategy)) refuse(refused->reason, refused->instead);
  if (info.idle_nodes(settings.strategy) > 0)
    refuse(strategy + " with nodes that do not train", "train on all nodes");
  if (info.uses_topology() && has_a_count(settings))
    refuse(fmt::format("topology.graph = \"{}\", a graph with a fixed number of nodes,",
                       settings.topology.graph),
           "give its family alone, such as ring");
  if (info.uses_topology()) check_family(settings);
  if (const auto state = info.common_state(settings.strategy); settings.compress.has_codec() && state)
    refuse(fmt::format("{} with {} and a codec", strategy, state->name), "leave out one of them");
  if (choose_shuffle(settings) > 0)
    refuse(fmt::format("data.shuffle = \"{}\"", settings.data.shuffle),
           "samples stay where they are: choose data.shuffle = \"local\"");
  if (settings.model.prune.value_or(0) > 0) refuse("model.prune", "leave it out");
  if (settings.is_cut()) check_stages_for_views(settings, info);
  if (!settings.cluster.speed.empty()) refuse("cluster.speed, a list of nodes,", "leave it out");
  if (settings.model.start == ModelStart::different)
    refuse("model.start = \"different\"", "newcomers take the state of the others: leave it out");
  if (settings.data.is_in_folders())
    refuse("data.partition = \"folders\"", "data.path is each member's own: leave out data.partition");
}

}  // namespace veche
