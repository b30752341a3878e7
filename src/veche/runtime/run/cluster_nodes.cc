#include "veche/runtime/run/cluster_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/base/files/files.h"
#include "veche/base/machine/memory.h"
#include "veche/driven_learner.h"
#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/runtime/record/loader_watch.h"

namespace veche {
namespace {

// Nodes whose gradients would fill this part of the free memory free them while they are idle.
// Other nodes keep them, since allocating them again costs a small model a twentieth of the time of
// a pass.
constexpr double kLargePartOfMemory = 0.125;

// Parameters of all nodes that are still gathered on every rank.
constexpr std::size_t kMostGathered = 1'000'000;

}  // namespace

ClusterNodes::ClusterNodes(const TrainingRequest& request, const RunPlan& plan,
                           std::unique_ptr<Cluster> cluster)
    : request_(request),
      plan_(plan),
      cluster_(std::move(cluster)),
      learners_(plan, {.own = request.learner,
                       .resume = request.restart ? std::filesystem::path() : request.resume,
                       .job = request.job}) {
  run_collectively(request_.job, [&] {
    for (const NodeId id : cluster_->here()) {
      auto endpoint = cluster_->endpoint(id);
      if (request_.network) endpoint = request_.network(std::move(endpoint));
      auto learner = learners_.make(id, nodes_.empty() ? nullptr : &nodes_.front()->learner());
      if (plan_.simulation && dynamic_cast<DrivenLearner*>(learner.get()) != nullptr)
        throw RequestError(
            "a training loop outside the run cannot be simulated, as its own time would not count; leave "
            "out cluster.transport = \"simulated\"");
      if (nodes_.empty())
        low_memory_ = request_.low_memory || fills_memory(learner->gradients().size_bytes());
      if (low_memory_) learner->rest();
      nodes_.push_back(
          std::make_unique<Node>(std::move(endpoint), std::move(learner), plan_.training, pool_));
    }
  });
}

bool ClusterNodes::fills_memory(std::size_t bytes_of_each) const {
  const double all = static_cast<double>(bytes_of_each) * static_cast<double>(cluster_->here().size());
  return all > kLargePartOfMemory * static_cast<double>(available_memory());
}

std::size_t ClusterNodes::parameters() const {
  return nodes_.empty() ? 0 : nodes_.front()->learner().parameters().size();
}

std::size_t ClusterNodes::count_loaders() const {
  const int stages = plan_.stages();
  return static_cast<std::size_t>(std::ranges::count_if(cluster_->here(), [&](NodeId id) {
    return id.value % stages == 0 &&
           !plan_.training.shards_of(static_cast<std::size_t>(id.value / stages)).empty();
  }));
}

NodeServices ClusterNodes::services_for(TrainingSession& session, Prefetcher& prefetcher) {
  return {.prefetcher = prefetcher,
          .interrupted = session.interrupted(),
          .spare_learner = [this] { return learners_.make_whole(NodeId{0}); },
          .speaker = nodes_.empty() ? NodeId{0} : nodes_.front()->endpoint().id(),
          .low_memory = low_memory_};
}

Evaluation ClusterNodes::train(TrainingSession& session, Checkpointer* checkpointer,
                               std::vector<std::vector<float>>& parameters) {
  Prefetcher prefetcher(plan_.settings.data.workers);
  NodeServices services = services_for(session, prefetcher);
  services.checkpointer = checkpointer;
  std::optional<LoaderWatch> watch;
  if (Observer* const observer = session.observer(); observer != nullptr && !nodes_.empty())
    services.observer =
        &watch.emplace(*observer,
                       LoaderWatch::Watched{prefetcher, count_loaders(),
                                            [&clock = nodes_.front()->endpoint()] { return clock.now(); }},
                       [&session](const std::string& sentence) { session.notice(sentence); });
  Evaluation last;
  run_collectively(request_.job, [&] {
    cluster_->run([&](NodeId id) {
      Evaluation result = nodes_[static_cast<std::size_t>(id.value - services.speaker.value)]->run(services);
      if (id == services.speaker) last = std::move(result);
    });
  });
  // Each node is freed before the parameters of the next one are copied.
  for (auto& node : nodes_) {
    const std::span<const float> x = node->learner().parameters();
    if (plan_.training.learns) parameters[node->me()].assign(x.begin(), x.end());
    if (plan_.training.trace) take_trace(*node);
    node.reset();
  }
  return last;
}

void ClusterNodes::gather(RunResult& result) const {
  if (request_.job == nullptr) return;
  const std::size_t each = nodes_.empty() ? 0 : result.info.parameters;
  std::string mine;
  if (result.info.stages == 1 && each * result.parameters.size() <= kMostGathered)
    for (const NodeId id : cluster_->here()) {
      const auto& x = result.parameters[static_cast<std::size_t>(id.value)];
      mine.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
    }
  const std::string reason = broadcast(request_.job, to_string(result.last.stopped));
  const std::optional<StopReason> stopped = parse_stop_reason(reason);
  if (!stopped)
    throw RunError(
        fmt::format("rank 0 says that the run has stopped by \"{}\", which this rank does not know; "
                    "run the same version on all ranks",
                    reason));
  result.last.stopped = *stopped;
  const std::size_t bytes_of_model = std::max<std::size_t>(each, 1) * sizeof(float);
  std::string all;
  const std::vector<std::string> parts = request_.job->exchange(mine);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].size() % bytes_of_model != 0)
      throw RunError(fmt::format("rank {} sent {} bytes where models of {} bytes were expected", rank,
                                 parts[rank].size(), bytes_of_model));
    all += parts[rank];
  }
  // A rank without a node does not know how long a model is.
  const std::size_t bytes = all.size() / result.parameters.size();
  if (all.size() % result.parameters.size() != 0 || bytes % bytes_of_model != 0)
    throw RunError(fmt::format("all ranks together sent {} bytes where the models of {} nodes were expected",
                               all.size(), result.parameters.size()));
  for (std::size_t i = 0; bytes > 0 && i < result.parameters.size(); ++i)
    result.parameters[i] = copied_items<float>(std::as_bytes(std::span(all)).subspan(i * bytes, bytes));
}

void ClusterNodes::take_trace(const Node& node) {
  const NodeId id = node.endpoint().id();
  std::string title = fmt::format("node {}", id.value);
  if (const auto& pipeline = plan_.training.pipeline)
    title += fmt::format(", stage {} of replica {}", pipeline->stage_of(id), pipeline->replica_of(id));
  trace_ += (trace_.empty() ? "" : ",\n") + node.trace().events(id, title);
}

void ClusterNodes::write_trace(TrainingSession& session) const {
  std::vector<std::string> all{trace_};
  if (request_.job != nullptr) all = request_.job->exchange(trace_);
  std::erase(all, "");  // of ranks without a node
  session.on_rank_zero([&] { write_file(session.folder()->trace(), Trace::file(all)); });
}

}  // namespace veche
