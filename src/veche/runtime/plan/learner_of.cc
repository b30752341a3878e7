#include "veche/runtime/plan/learner_of.h"

#include <algorithm>

#include "veche/base/machine/cores.h"
#include "veche/model/weights.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/plan/model_spec_of.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {

// Then the weights come from there; the file they began with may be gone.
bool LearnersOfRun::has_checkpoint() {
  if (request_.resume.empty() || request_.restart) return false;
  if (!has_checkpoint_) {
    const RunFolder folder = RunFolder::open(request_.resume);
    const CheckpointStore store(folder.checkpoints(), plan_.learners(), folder.id());
    has_checkpoint_ = store.newest([](const DamagedPiece&) {}).has_value();
  }
  return *has_checkpoint_;
}

// Cores that nobody else's model needs while a node tests its own.
int LearnersOfRun::evaluation_threads() const {
  const int ranks = request_.job == nullptr ? 1 : request_.job->size();
  const int slots = plan_.settings.cluster.get<int>("slots");
  const int cores =
      slots > 0 ? slots : usable_cores(request_.job == nullptr ? 1 : request_.job->ranks_on_this_host());
  return std::max(1, cores * ranks / std::max(plan_.learners(), ranks));
}

std::unique_ptr<Learner> LearnersOfRun::make(NodeId node, Learner* like) {
  if (plan_.training.pipeline) return make_stage(node, *plan_.training.pipeline);
  return make_whole(node, like);
}

std::unique_ptr<Learner> LearnersOfRun::make_whole(NodeId node, Learner* like) {
  if (plan_.stand_in) return make_stand_in(plan_.stand_in);
  if (request_.learner) return request_.learner(node);
  const Settings& settings = plan_.settings;
  ModelSpec spec = model_spec_of(settings, plan_.source, node);
  spec.evaluation_threads = evaluation_threads();
  const bool copies = settings.model.get<std::string>("start") == "equal" && like != nullptr;
  auto learner = learners_.make(spec, copies ? like : nullptr);
  if (settings.model.has("init") && !copies && !has_checkpoint())
    load_weights(*learner, settings.model.get<std::string>("init"));
  return learner;
}

// Of the same replica's model all stages are of one seed.
std::unique_ptr<Learner> LearnersOfRun::make_stage(NodeId node, const PipelinePlan& pipeline) {
  const Settings& settings = plan_.settings;
  const ModelSpec spec = model_spec_of(settings, plan_.source, NodeId{pipeline.replica_of(node)});
  auto stage = learners_.make_stage(spec, pipeline.parts[static_cast<std::size_t>(pipeline.stage_of(node))]);
  if (settings.model.has("init") && !has_checkpoint())
    load_weights(*stage, settings.model.get<std::string>("init"), pipeline.parameters, pipeline.buffers);
  return stage;
}

}  // namespace veche
