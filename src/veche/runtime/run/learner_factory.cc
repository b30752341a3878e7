#include "veche/runtime/run/learner_factory.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/machine/cores.h"
#include "veche/driven_learner.h"
#include "veche/errors.h"
#include "veche/model/accumulating_learner.h"
#include "veche/model/weights.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/plan/model_spec.h"
#include "veche/runtime/plan/strategy_choice.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {
namespace {

void check_turns(const Settings& settings) {
  const auto refuse = [](const std::string& reason, const std::string& instead) {
    throw RequestError(fmt::format("several optimizers cannot step in turn with {}: {}", reason, instead));
  };
  const StrategyInfo& info = strategy_of(settings);
  if (is_async(settings))
    refuse(fmt::format("strategy.name = \"{}\", whose nodes do not wait for each other", info.name),
           "choose its form in step");
  // What a code leaves out belongs to the optimizer of that step, and would come in another's.
  const CodedExchange coded = info.coded.exchange;
  if (settings.compress.has_codec() && (coded == CodedExchange::gradients || coded == CodedExchange::both))
    refuse(fmt::format("compress.codec = \"{}\" and strategy.name = \"{}\", which codes gradients",
                       settings.compress.codec, info.name),
           "leave out compress.codec, or choose a strategy that exchanges models, such as local-sgd");
  // Whatever keeps a gradient for a later step.
  if (const auto refused = info.refuses_completed_steps(settings.strategy))
    refuse(refused->reason, refused->instead);
}

void check_driven(const Learner& learner, const Settings& settings) {
  const auto* const driven = dynamic_cast<const DrivenLearner*>(&learner);
  if (driven == nullptr) return;
  if (driven->takes_turns()) return check_turns(settings);
  if (driven->exchanges() && is_async(settings))
    throw RequestError(fmt::format(
        "buffers of the training loop cannot follow each other with strategy.name = \"{}\", whose "
        "nodes do not wait for each other: leave them each node's own",
        settings.strategy.name));
}

}  // namespace

// A checkpoint replaces the initial weights, whose file may no longer exist.
bool LearnerFactory::has_checkpoint() {
  if (from_.resume.empty()) return false;
  if (!has_checkpoint_) {
    const RunFolder folder = RunFolder::open(from_.resume);
    const CheckpointStore store(folder.checkpoints(), plan_.learners(), folder.id());
    has_checkpoint_ = store.newest([](const DamagedPiece&) {}).has_value();
  }
  return *has_checkpoint_;
}

// Cores that no other node needs while this one tests its model.
int LearnerFactory::evaluation_threads() const {
  const int ranks = from_.job == nullptr ? 1 : from_.job->size();
  const int slots = plan_.settings.cluster.slots;
  const int cores =
      slots > 0 ? slots : usable_cores(from_.job == nullptr ? 1 : from_.job->ranks_on_this_host());
  return std::max(1, cores * ranks / std::max(plan_.learners(), ranks));
}

// A batch larger than one pass is accumulated.
std::unique_ptr<Learner> LearnerFactory::in_passes(std::unique_ptr<Learner> learner) const {
  const DataSettings& data = plan_.settings.data;
  if ((data.accumulate == 1 && !data.global_batch) || plan_.settings.brings_data) return learner;
  return std::make_unique<AccumulatingLearner>(std::move(learner), plan_.training.data.pass);
}

std::unique_ptr<Learner> LearnerFactory::make(NodeId node, Learner* like) {
  if (plan_.training.pipeline) return make_stage(node, *plan_.training.pipeline);
  return make_whole(node, like);
}

std::unique_ptr<Learner> LearnerFactory::make_whole(NodeId node, Learner* like) {
  if (plan_.stand_in) return make_stand_in(plan_.stand_in);
  const Settings& settings = plan_.settings;
  if (from_.own) {
    auto learner = from_.own(node);
    check_driven(*learner, settings);
    return in_passes(std::move(learner));
  }
  ModelSpec spec = make_model_spec(settings, plan_.source, node);
  spec.evaluation_threads = evaluation_threads();
  const bool copies = settings.model.start == ModelStart::equal && like != nullptr;
  auto learner = learners_.make(spec, copies ? like : nullptr);
  check_driven(*learner, settings);
  if (settings.model.init && !copies && !has_checkpoint()) load_weights(*learner, *settings.model.init);
  return in_passes(std::move(learner));
}

// All stages of a replica have the replica's seed.
std::unique_ptr<Learner> LearnerFactory::make_stage(NodeId node, const PipelinePlan& pipeline) {
  const Settings& settings = plan_.settings;
  const ModelSpec spec = make_model_spec(settings, plan_.source, NodeId{pipeline.replica_of(node)});
  auto stage = learners_.make_stage(spec, pipeline.parts[static_cast<std::size_t>(pipeline.stage_of(node))]);
  if (settings.model.init && !has_checkpoint())
    load_weights(*stage, *settings.model.init, pipeline.parameters, pipeline.buffers);
  return stage;
}

}  // namespace veche
