#include "veche/runtime/run/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "veche/base/machine/cores.h"
#include "veche/comm/sim/sim.h"
#include "veche/comm/threads/threads.h"
#include "veche/graph/topology.h"
#include "veche/runtime/run/cluster_checkpoints.h"
#include "veche/runtime/run/cluster_nodes.h"
#include "veche/runtime/run/session.h"

namespace veche {
namespace {

// The engine that the request asks for.
std::unique_ptr<Cluster> make_cluster(const TrainingRequest& request, const RunPlan& plan) {
  if (plan.simulation) return make_sim_cluster(plan.learners(), plan.simulation->network);
  int slots = plan.settings.cluster.slots;
  // Each slot then has room for several threads.
  if (const int threads = plan.settings.model.threads; slots == 0 && threads > 1)
    slots =
        std::max(1, usable_cores(request.job == nullptr ? 1 : request.job->ranks_on_this_host()) / threads);
  if (request.job != nullptr) return request.job->cluster(plan.learners(), slots);
  if (request.cluster) return request.cluster(plan.learners());
  return std::make_unique<ThreadsCluster>(plan.learners(), slots);
}

void describe(TrainingSession& session, const RunPlan& plan, const ClusterNodes& nodes) {
  session.describe({.plan = plan.training,
                    .source = plan.source,
                    .parameters = plan.training.learns ? nodes.parameters() : plan.simulation->parameters,
                    .nodes = plan.settings.nodes()});
}

void open_folder(TrainingSession& session, const TrainingRequest& request, const RunPlan& plan) {
  if (!request.resume.empty())
    session.resume_folder(request.resume);
  else if (request.keep)
    session.create_folder(plan.settings);
  if (request.restart)
    session.on_rank_zero([&] {
      RunFolder& folder = *session.folder();
      const std::filesystem::path aside = folder.put_aside();
      session.notice(
          fmt::format("moved the previous files of {} to {}", folder.path().string(), aside.string()));
    });
}

// Whether the folder has the whole run already, with the times it took.
bool has_ended(TrainingSession& session, const RunPlan& plan) {
  const RunFolder* const folder = session.folder();
  return folder != nullptr && session.info().first_step >= plan.training.steps &&
         std::filesystem::exists(folder->summary());
}

void tell_plan(const TrainingSession& session, const RunPlan& plan) {
  if (const std::string& asked = plan.settings.strategy.name; asked != plan.training.strategy.name)
    session.notice(fmt::format("one node has no neighbours: strategy.name = \"{}\" trains it alone", asked));
  if (const auto& topology = plan.training.topology)
    for (const std::string& sentence : notes_of(*topology).notices) session.notice(sentence);
  const int threads = plan.settings.model.threads, cores = usable_cores();
  if (threads > cores)
    session.notice(
        fmt::format("model.threads = {}, but this process may use {} core{}: they wait for each other",
                    threads, cores, cores == 1 ? "" : "s"));
}

RunResult train(TrainingSession& session, const RunPlan& plan, ClusterNodes& nodes,
                Checkpointer* checkpointer) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(plan.learners()));
  const auto start = std::chrono::steady_clock::now();
  Evaluation last = nodes.train(session, checkpointer, parameters);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RunResult result = session.result(plan.source, std::move(last), std::move(parameters));
  if (plan.simulation) result.wall_seconds = took.count();
  nodes.gather(result);
  if (session.folder() != nullptr && plan.training.trace) nodes.write_trace(session);
  return result;
}

}  // namespace

RunResult run_training(const TrainingRequest& request) {
  const std::unique_ptr<const RunPlan> plan = plan_request(request);
  TrainingSession session(
      plan->settings, request.learner != nullptr,
      {.observer = request.observer, .interrupted = request.interrupted, .job = request.job});
  ClusterNodes nodes(request, *plan, make_cluster(request, *plan));
  describe(session, *plan, nodes);
  const auto arithmetic = TrainingSession::equal_arithmetic();

  open_folder(session, request, *plan);
  std::optional<ClusterCheckpoints> checkpoints;
  Checkpointer* checkpointer = nullptr;
  if (session.folder() != nullptr && plan->training.learns) {
    checkpoints.emplace(session, *plan);
    if (!request.resume.empty()) session.continue_from(checkpoints->resume(nodes));
    checkpointer = &checkpoints->start();
    session.on_rank_zero(
        [&] { session.write_layout(plan->training.pipeline, nodes.all().front()->learner(), plan->source); });
  }
  const bool ended = has_ended(session, *plan);
  if (ended)
    session.notice(fmt::format("{} had ended; --set run.{}=.. makes it longer",
                               session.folder()->path().string(),
                               plan->settings.run.steps ? "steps" : "epochs"));
  session.start(ended);
  tell_plan(session, *plan);

  RunResult result = train(session, *plan, nodes, checkpointer);
  session.finish(result);
  return result;
}

}  // namespace veche
