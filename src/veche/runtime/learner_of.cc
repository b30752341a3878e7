#include "veche/runtime/learner_of.h"

#include "veche/model/weights.h"
#include "veche/model/zoo.h"
#include "veche/runtime/checkpoint.h"
#include "veche/runtime/model_spec_of.h"
#include "veche/runtime/run_folder.h"

namespace veche {
namespace {

// Then the weights come from there; the file they began with may be gone.
bool has_checkpoint(const TrainingRequest& request, const RunPlan& plan) {
  if (request.resume.empty()) return false;
  const CheckpointStore store(RunFolder::open(request.resume).checkpoints(), plan.learners());
  return store.newest([](const std::string&) {}).has_value();
}

}  // namespace

std::unique_ptr<Learner> learner_of(const TrainingRequest& request, const RunPlan& plan, NodeId node) {
  if (plan.stand_in) return make_stand_in(plan.stand_in);
  if (request.learner) return request.learner(node);
  const Settings& settings = plan.settings;
  auto learner = make_learner(model_spec_of(settings, plan.source, node));
  if (settings.model.has("init") && !has_checkpoint(request, plan))
    load_weights(*learner, settings.model.get<std::string>("init"));
  return learner;
}

}  // namespace veche
