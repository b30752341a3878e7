#include "veche/runtime/run/request.h"

#include <fmt/format.h>

#include <sstream>

#include "veche/comm/mpi/launch.h"
#include "veche/errors.h"
#include "veche/runtime/inference/saved_model.h"
#include "veche/runtime/plan/model_spec.h"
#include "veche/runtime/plan/pipeline_plan.h"
#include "veche/runtime/run/collective.h"

namespace veche {
namespace {

void check_transport(const TrainingRequest& request) {
  const Transport transport = request.settings.cluster.transport;
  const int nodes = request.settings.nodes();
  if (request.settings.is_simulated() && request.job != nullptr && request.job->size() > 1)
    throw RequestError("a simulation runs in one process: start it without mpirun or srun");
  if (request.job == nullptr || request.settings.is_simulated()) {
    if (transport != Transport::mpi) return;
    throw RequestError(fmt::format(
        "cluster.transport = \"mpi\" needs a launcher: mpirun -np {} veche train ..., or srun", nodes));
  }
  const int ranks = request.job->size();
  if (transport == Transport::threads && ranks > 1)
    throw RequestError(fmt::format(
        "cluster.transport = \"threads\" would train the same in each of the {} ranks: leave it out", ranks));
  if (nodes < ranks)
    throw RequestError(fmt::format("cluster.nodes = {} leaves {} of the {} ranks without a node", nodes,
                                   ranks - nodes, ranks));
}

// Rank 0 measures the blocks for all ranks, since no two measurements are equal.
void cut_by_time(RunPlan& plan, Job* job) {
  if (!is_cut_by_time(plan.settings)) return;
  // In virtual time the cut follows from counted operations. The settings then hold the places of
  // the cut, so that config.toml repeats the run on any engine.
  if (plan.simulation) return plan.cut_at(Cut(plan.training.pipeline->cut));
  std::string places;
  run_on_rank_zero(job, [&] {
    const PipelinePlan& pipeline = *plan.training.pipeline;
    const std::size_t samples = samples_in(plan.training.data.batch, pipeline.micro_batches, 0);
    const std::vector<double> seconds =
        measure_blocks(make_model_spec(plan.settings, plan.source, NodeId{0}), samples);
    const std::vector<double>& speeds = plan.settings.cluster.speed;
    for (const int place :
         plan_cut(pipeline.blocks, {PipelineCut::By::time, stage_speeds(speeds, pipeline.stages), seconds}))
      places += std::to_string(place) + " ";
  });
  Cut cut;
  std::istringstream in(broadcast(job, places));
  for (int place = 0; in >> place;) cut.push_back(place);
  plan.cut_at(std::move(cut));
}

// A run that is resumed with another number of stages is cut again.
Settings settings_to_plan(const TrainingRequest& request) {
  Settings settings = request.settings;
  const PipelineCut& cut = settings.pipeline.cut;
  if (!request.resume.empty() && cut.by == PipelineCut::By::places &&
      static_cast<int>(cut.places.size()) != settings.stages() - 1)
    settings.pipeline.cut = {};
  // The text may have changed: the model goes on with the vocabulary that it has.
  if (!request.resume.empty() && !request.restart && is_text(settings.data))
    settings.data.vocabulary = vocabulary_of(RunFolder::open(request.resume));
  return settings;
}

// Tasks that a launcher has started without MPI between them would all train the same run.
void refuse_tasks_without_mpi(const Settings& settings) {
  const int tasks = tasks_without_mpi();
  if (tasks > 1 && settings.cluster.transport == Transport::automatic)
    throw RequestError(fmt::format(
        "srun started {} tasks that know nothing of each other: use srun --mpi=pmix (Open MPI) or "
        "--mpi=pmi2 (MPICH), or cluster.transport = \"threads\" for {} separate runs",
        tasks, tasks));
}

}  // namespace

Settings settings_for(Config config, const Job* job) {
  if (job != nullptr && job->size() > 1) config.prefer_nodes(job->size());
  Settings settings = config.resolve();
  if (job == nullptr) refuse_tasks_without_mpi(settings);
  return settings;
}

std::unique_ptr<const RunPlan> plan_request(const TrainingRequest& request) {
  std::unique_ptr<RunPlan> plan;
  run_collectively(request.job, [&] {
    if (request.restart && request.resume.empty())
      throw RequestError(
          "--restart begins a run again that was there before: name it with --resume runs/NAME");
    check_transport(request);
    if (request.learner && request.settings.is_cut())
      throw RequestError("pipeline.stages: a learner of this program's own cannot be cut into stages");
    OpenOptions how;
    if (request.job != nullptr) how.processes = request.job->ranks_on_this_host();
    // A model that is trained on keeps the scheme of its table, whatever rows were added.
    if (!request.resume.empty() && !request.restart) how.scheme = saved_scheme(request.resume);
    plan = std::make_unique<RunPlan>(settings_to_plan(request), how,
                                     request.job == nullptr || request.job->on_one_host());
  });
  cut_by_time(*plan, request.job);
  if (request.trial_steps) plan->limit_to_trial(*request.trial_steps);
  return plan;
}

}  // namespace veche
