#include "veche/runtime/learner_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/cores.h"
#include "veche/model/weights.h"
#include "veche/model/zoo.h"
#include "veche/random.h"
#include "veche/runtime/checkpoint.h"
#include "veche/runtime/run_folder.h"

namespace veche {
namespace {

// Then the weights come from there; the file they began with may be gone.
bool has_checkpoint(const TrainingRequest& request, const RunPlan& plan) {
  if (request.resume.empty()) return false;
  const CheckpointStore store(RunFolder::open(request.resume).checkpoints(), plan.learners());
  return store.newest([](const std::string&) {}).has_value();
}

// Cores that nobody else's model needs while a node tests its own.
int evaluation_threads(const TrainingRequest& request, const RunPlan& plan) {
  const int ranks = request.job == nullptr ? 1 : request.job->size();
  const int slots = plan.settings.cluster.get<int>("slots");
  const int cores =
      slots > 0 ? slots : usable_cores(request.job == nullptr ? 1 : request.job->ranks_on_this_host());
  return std::max(1, cores * ranks / std::max(plan.learners(), ranks));
}

}  // namespace

std::unique_ptr<Learner> learner_of(const TrainingRequest& request, const RunPlan& plan, NodeId node) {
  if (request.learner) return request.learner(node);
  const Settings& settings = plan.settings;
  ModelSpec spec;
  spec.name = settings.model.get<std::string>("name");
  spec.options = settings.model;
  spec.seed = settings.model.get<std::string>("start") == "equal"
                  ? settings.seed()
                  : RandomStream(settings.seed(), "start", static_cast<std::uint64_t>(node.value)).next();
  spec.node = node;
  spec.nodes = settings.nodes();
  spec.evaluation_threads = evaluation_threads(request, plan);
  if (!settings.brings_data) {
    const int classes = plan.source.train->classes();
    spec.input = plan.source.train->shape();
    spec.classes = settings.model.get<int>("classes", classes);
    if (spec.classes < classes)
      throw RequestError(fmt::format("model.classes = {} is too few: {} has {} classes", spec.classes,
                                     plan.source.name, classes));
  }
  auto learner = make_learner(spec);
  if (settings.model.has("init") && !has_checkpoint(request, plan))
    load_weights(*learner, settings.model.get<std::string>("init"));
  return learner;
}

}  // namespace veche
