#include "veche/runtime/run/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sstream>

#include "veche/base/files/files.h"
#include "veche/base/machine/cores.h"
#include "veche/base/machine/denormals.h"
#include "veche/base/machine/memory.h"
#include "veche/comm/mpi/launch.h"
#include "veche/comm/sim/sim.h"
#include "veche/comm/threads/threads.h"
#include "veche/graph/topology.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/checkpoint/resume.h"
#include "veche/runtime/checkpoint/saved_model.h"
#include "veche/runtime/plan/learner_of.h"
#include "veche/runtime/plan/model_spec_of.h"
#include "veche/runtime/plan/pipeline_plan.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/record/loader_watch.h"
#include "veche/runtime/record/recorder.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/on_all_ranks.h"

namespace veche {
namespace {

// Nodes whose gradients would fill this part of the memory that is left give them back while they wait.
// Others keep them: to be given memory anew costs a small pass a twentieth of its time.
constexpr double kMuchMemory = 0.125;

void check_transport(const TrainingRequest& request) {
  const auto transport = request.settings.cluster.get<std::string>("transport");
  const int nodes = request.settings.nodes();
  if (transport == "simulated" && request.job != nullptr && request.job->size() > 1)
    throw RequestError("a simulation runs in one process: start it without mpirun or srun");
  if (request.job == nullptr || transport == "simulated") {
    if (transport != "mpi") return;
    throw RequestError(fmt::format(
        "cluster.transport = \"mpi\" needs a launcher: mpirun -np {} veche train ..., or srun", nodes));
  }
  const int ranks = request.job->size();
  if (transport == "threads" && ranks > 1)
    throw RequestError(fmt::format(
        "cluster.transport = \"threads\" would train the same in each of the {} ranks: leave it out", ranks));
  if (nodes < ranks)
    throw RequestError(fmt::format("cluster.nodes = {} leaves {} of the {} ranks without a node", nodes,
                                   ranks - nodes, ranks));
}

// One measures for all: no two would measure the same.
void cut_by_time(RunPlan& plan, Job* job) {
  if (!is_cut_by_time(plan.settings)) return;
  // In virtual time the cut follows from counted operations. It is kept as places as well, so that
  // config.toml repeats the run on any engine.
  if (plan.simulation) return plan.cut_at(Cut(plan.training.pipeline->cut));
  std::string places;
  on_all_ranks(job, [&] {
    if (job != nullptr && job->rank() != 0) return;
    const PipelinePlan& pipeline = *plan.training.pipeline;
    const std::size_t samples = samples_in(plan.training.data.batch, pipeline.micro_batches, 0);
    const std::vector<double> seconds =
        measure_blocks(model_spec_of(plan.settings, plan.source, NodeId{0}), samples);
    const auto speeds = plan.settings.cluster.get<std::vector<double>>("speed", {});
    for (const int place : best_cut(seconds, stage_speeds(speeds, pipeline.stages)))
      places += std::to_string(place) + " ";
  });
  if (job != nullptr) places = job->exchange(places).front();
  Cut cut;
  std::istringstream in(places);
  for (int place = 0; in >> place;) cut.push_back(place);
  plan.cut_at(std::move(cut));
}

// A run that goes on with another number of stages is cut anew.
Settings settings_of(const TrainingRequest& request) {
  Settings settings = request.settings;
  const auto* places = std::get_if<Value::List>(&settings.pipeline.at("cut").data);
  if (!request.resume.empty() && places != nullptr &&
      static_cast<int>(places->size()) != settings.stages() - 1)
    settings.pipeline.set("cut", {std::string("time")});
  return settings;
}

std::unique_ptr<const RunPlan> make_plan(const TrainingRequest& request) {
  std::unique_ptr<RunPlan> plan;
  on_all_ranks(request.job, [&] {
    if (request.restart && request.resume.empty())
      throw RequestError(
          "--restart begins a run again that was there before: name it with --resume runs/NAME");
    check_transport(request);
    if (request.learner && request.settings.is_cut())
      throw RequestError("pipeline.stages: a learner of this program's own cannot be cut into stages");
    plan = request.job == nullptr
               ? std::make_unique<RunPlan>(settings_of(request))
               : std::make_unique<RunPlan>(settings_of(request), request.job->ranks_on_this_host(),
                                           request.job->on_one_host());
  });
  cut_by_time(*plan, request.job);
  return plan;
}

std::unique_ptr<Cluster> make_cluster(const TrainingRequest& request, const RunPlan& plan) {
  if (plan.simulation) return make_sim_cluster(plan.learners(), plan.simulation->network);
  int slots = plan.settings.cluster.get<int>("slots");
  // A slot is then for several threads.
  if (const int threads = plan.settings.model.get<int>("threads", 0); slots == 0 && threads > 1)
    slots =
        std::max(1, usable_cores(request.job == nullptr ? 1 : request.job->ranks_on_this_host()) / threads);
  if (request.job != nullptr) return request.job->cluster(plan.learners(), slots);
  if (request.cluster) return request.cluster(plan.learners());
  return std::make_unique<ThreadsCluster>(plan.learners(), slots);
}

// Making it checks the whole request; nothing is written before `run`.
class Training {
 public:
  explicit Training(const TrainingRequest& request)
      : request_(request), made_plan_(make_plan(request)), cluster_(make_cluster(request, plan_)) {
    on_all_ranks(request_.job, [&] {
      for (const NodeId id : cluster_->here()) {
        auto endpoint = cluster_->endpoint(id);
        if (request_.network) endpoint = request_.network(std::move(endpoint));
        auto learner = learners_.make(id, nodes_.empty() ? nullptr : &nodes_.front()->learner());
        if (nodes_.empty()) crowded_ = request_.crowded || fills_memory(learner->gradients().size_bytes());
        if (crowded_) learner->rest();
        nodes_.push_back(
            std::make_unique<Node>(std::move(endpoint), std::move(learner), plan_.training, pool_));
      }
    });
    info_.strategy = plan_.training.strategy.name;
    info_.topology = plan_.training.topology ? plan_.training.topology->describe() : "";
    info_.codec = plan_.training.compression ? plan_.training.compression->spec.word() : "";
    info_.model = request_.learner ? "own" : plan_.settings.model.get<std::string>("name");
    info_.data = plan_.source.name;
    info_.rank = request_.job == nullptr ? 0 : request_.job->rank();
    info_.nodes = plan_.settings.nodes();
    info_.stages = plan_.stages();
    info_.parameters = plan_.training.pipeline ? plan_.training.pipeline->parameter_count()
                       : nodes_.empty()        ? 0
                                               : nodes_.front()->learner().parameters().size();
    if (!plan_.training.learns) info_.parameters = plan_.simulation->parameters;
    info_.steps = plan_.training.steps;
    info_.steps_per_epoch = plan_.training.steps_per_epoch;
  }

  RunResult run() {
    std::optional<RunFolder> folder = open_folder();
    if (folder && plan_.training.learns)
      store_.emplace(folder->checkpoints(), plan_.learners(), folder->id());
    if (request_.restart) restart(*folder);
    if (store_ && !request_.resume.empty()) find_checkpoint(*folder);
    if (store_) agree_on_id(*folder);
    if (store_) lead([&] { keep_layout(*folder); });
    info_.folder = folder ? folder->path() : std::filesystem::path();
    info_.first_step = checkpoint_;
    // All that could be recorded of it already is, with the times it took.
    const bool had_ended =
        folder && info_.first_step >= plan_.training.steps && std::filesystem::exists(folder->summary());
    if (had_ended)
      notice(fmt::format("{} had ended; --set run.{}=.. makes it longer", folder->path().string(),
                         plan_.settings.run.has("steps") ? "steps" : "epochs"));
    std::optional<Recorder> recorder;
    if (folder)
      lead([&] {
        if (!had_ended) recorder.emplace(*folder, info_, request_.observer);
      });
    if (request_.observer != nullptr) request_.observer->on_start(info_);
    if (const auto& topology = plan_.training.topology)
      for (const std::string& sentence : words_of(*topology).notices) notice(sentence);
    tell_threads();

    RunResult result;
    result.info = info_;
    result.parameters.resize(static_cast<std::size_t>(plan_.learners()));
    const auto start = std::chrono::steady_clock::now();
    result.last = run_nodes(recorder ? &*recorder : static_cast<Observer*>(observer()), result.parameters);
    if (plan_.simulation)
      result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (request_.job != nullptr) gather(result);
    if (folder && plan_.training.trace) write_trace(*folder);
    tell_damage(result);
    if (folder) lead([&] { put_away(*folder, recorder ? &*recorder : nullptr, result); });
    return result;
  }

 private:
  bool leads() const { return request_.job == nullptr || request_.job->rank() == 0; }
  // What one does for all; where it fails, all learn why.
  void lead(const std::function<void()>& work) const {
    on_all_ranks(request_.job, [&] {
      if (leads()) work();
    });
  }
  RunObserver* observer() const { return leads() ? request_.observer : nullptr; }
  void notice(const std::string& sentence) const {
    if (observer() != nullptr) observer()->on_notice(sentence);
  }

  // A run that has its summary had ended, with all its measurements. `recorder` is null when it was so
  // before.
  static void put_away(const RunFolder& folder, Recorder* recorder, const RunResult& result) {
    if (recorder == nullptr) return;
    recorder->finish();
    if (result.last.stopped != StopReason::interrupted)
      write_file(folder.summary(), summary(result).dump(2) + "\n");
  }

  void keep_layout(const RunFolder& folder) const {
    if (const auto& pipeline = plan_.training.pipeline)
      return write_layout(folder, info_.model, pipeline->parameters, pipeline->buffers, plan_.source);
    const Learner& learner = nodes_.front()->learner();
    write_layout(folder, info_.model, learner.parameter_layout(), learner.buffer_layout(), plan_.source);
  }

  void keep_trace(const Node& node) {
    const NodeId id = node.endpoint().id();
    std::string title = fmt::format("node {}", id.value);
    if (const auto& pipeline = plan_.training.pipeline)
      title += fmt::format(", stage {} of replica {}", pipeline->stage_of(id), pipeline->replica_of(id));
    trace_ += (trace_.empty() ? "" : ",\n") + node.trace().events(id, title);
  }

  // By all ranks, each with its nodes.
  void write_trace(const RunFolder& folder) const {
    std::vector<std::string> all{trace_};
    if (request_.job != nullptr) all = request_.job->exchange(trace_);
    std::erase(all, "");  // ranks without a node
    lead([&] { write_file(folder.trace(), Trace::file(all)); });
  }

  void tell_threads() const {
    const int threads = plan_.settings.model.get<int>("threads", 0), cores = usable_cores();
    if (threads > cores)
      notice(fmt::format("model.threads = {}, but this process may use {} core{}: they wait for each other",
                         threads, cores, cores == 1 ? "" : "s"));
  }

  void tell_damage(RunResult& result) const {
    for (const auto& log : plan_.source.damage) {
      result.damaged_samples += log->count();
      for (std::string& sentence : log->sentences()) result.damage.push_back(std::move(sentence));
    }
    if (result.damage.empty()) return;
    if (result.damaged_samples == 0) return notice(result.damage.front());
    notice(fmt::format(
        "{} damaged samples were passed over, others of their classes took their places; the first: {}",
        result.damaged_samples, result.damage.front()));
  }

  // Made by the one who leads and opened by the others, who must see the same files.
  std::optional<RunFolder> open_folder() const {
    std::optional<RunFolder> folder;
    const auto tell = [this](const std::string& sentence) { notice(sentence); };
    lead([&] {
      if (!request_.resume.empty())
        folder = RunFolder::resume(request_.resume, tell);
      else if (request_.keep)
        folder = RunFolder::create(plan_.settings, tell);
    });
    if (request_.job == nullptr) return folder;
    const std::string path =
        request_.job->exchange(folder ? std::filesystem::absolute(folder->path()).string() : "").front();
    on_all_ranks(request_.job, [&] {
      if (leads() || path.empty()) return;
      if (!std::filesystem::exists(path))
        throw RequestError(path + " is not there: run.out must lie on a file system that all hosts share");
      folder = RunFolder::open(path);
    });
    return folder;
  }

  void restart(RunFolder& folder) {
    lead([&] {
      const std::filesystem::path aside = folder.put_aside();
      notice(fmt::format("what {} had is in {} now", folder.path().string(), aside.string()));
    });
  }

  void find_checkpoint(RunFolder& folder) {
    std::string chosen;  // a step; nothing: there is no checkpoint
    std::vector<DamagedPiece> damaged;
    lead([&] {
      const auto step = store_->newest([&](const DamagedPiece& piece) { damaged.push_back(piece); });
      if (!step && !damaged.empty())
        refuse_damaged(damaged,
                       fmt::format("begin again with `veche train --resume {} --restart`, which keeps "
                                   "what is there",
                                   folder.path().string()));
      if (step) chosen = std::to_string(*step);
    });
    for (const DamagedPiece& piece : damaged) notice(piece.sentence());
    if (request_.job != nullptr) chosen = request_.job->exchange(chosen).front();
    on_all_ranks(request_.job, [&] {
      if (chosen.empty())
        notice(folder.path().string() + " has no checkpoint yet: starting from the beginning");
      else
        resume_from(std::stoull(chosen), folder);
    });
    lead([&] {
      store_->remove_unfinished();
      for (const std::filesystem::path& place : store_->set_aside(damaged))
        notice(fmt::format("the damaged checkpoint is kept as {}", place.string()));
      if (!chosen.empty()) folder.settle_id(store_->run_at(std::stoull(chosen)));
      write_file(folder.config(), plan_.settings.to_toml());  // its length may have been changed
    });
  }

  // What every rank writes into its nodes' files.
  void agree_on_id(RunFolder& folder) {
    lead([&] { folder.settle_id(0); });
    std::string id = std::to_string(folder.id());
    if (request_.job != nullptr) id = request_.job->exchange(id).front();
    store_->set_run(std::stoull(id));
  }

  void resume_from(std::uint64_t checkpoint, const RunFolder& folder) {
    const int stages =
        nodes_.empty() ? 1 : static_cast<int>(store_->parts_at(checkpoint, info_.parameters).size());
    if (const int saved = store_->nodes_at(checkpoint); saved != plan_.learners() || stages != info_.stages)
      notice(fmt::format(
          "{} was saved by {} nodes{}: {}{} go on from their averaged model, the data divided anew{}",
          folder.path().string(), saved, stages > 1 ? fmt::format(" in {} stages", stages) : "",
          plan_.learners(), info_.stages > 1 ? fmt::format(" in {} stages", info_.stages) : "",
          info_.codec.empty() ? "" : "; what codecs remembered is forgotten"));
    checkpoint_ = resume(nodes_, *store_, checkpoint, plan_);
  }

  // Why the run ended, for ranks without a node, and the others' parameters where they are few.
  void gather(RunResult& result) const {
    constexpr std::size_t kFew = 1'000'000;
    const std::size_t each = nodes_.empty() ? 0 : info_.parameters;
    std::string mine;
    if (info_.stages == 1 && each * result.parameters.size() <= kFew)
      for (const NodeId id : cluster_->here()) {
        const auto& x = result.parameters[static_cast<std::size_t>(id.value)];
        mine.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
      }
    result.last.stopped =
        parse_stop_reason(request_.job->exchange(to_string(result.last.stopped)).front()).value();
    std::string all;
    for (const std::string& part : request_.job->exchange(mine)) all += part;
    const std::size_t bytes = all.size() / result.parameters.size();
    for (std::size_t i = 0; bytes > 0 && i < result.parameters.size(); ++i) {
      result.parameters[i].resize(bytes / sizeof(float));
      std::memcpy(result.parameters[i].data(), all.data() + i * bytes, bytes);
    }
  }

  Evaluation run_nodes(Observer* observer, std::vector<std::vector<float>>& parameters) {
    Prefetcher prefetcher(plan_.settings.data.get<int>("workers"));
    std::optional<LoaderWatch> watch;
    if (observer != nullptr && !nodes_.empty())
      watch.emplace(*observer,
                    LoaderWatch::Watched{prefetcher, loaders_here(),
                                         [&clock = nodes_.front()->endpoint()] { return clock.now(); }},
                    [this](const std::string& sentence) { notice(sentence); });
    static const std::atomic<bool> never = false;
    const NodeServices services{
        .prefetcher = prefetcher,
        .interrupted = request_.interrupted != nullptr ? *request_.interrupted : never,
        .observer = watch ? &*watch : nullptr,
        .checkpointer = store_ ? &*store_ : nullptr,
        .spare_learner = [this] { return learners_.make_whole(NodeId{0}); },
        .speaker = nodes_.empty() ? NodeId{0} : nodes_.front()->endpoint().id(),
        .crowded = crowded_};
    Evaluation last;
    on_all_ranks(request_.job, [&] {
      cluster_->run([&](NodeId id) {
        Evaluation result = nodes_[index_of(id)]->run(services);
        if (id == services.speaker) last = std::move(result);
      });
    });
    // One after the other, each making room for the next.
    for (auto& node : nodes_) {
      const std::span<const float> x = node->learner().parameters();
      if (plan_.training.learns) parameters[node->me()].assign(x.begin(), x.end());
      if (plan_.training.trace) keep_trace(*node);
      node.reset();
    }
    return last;
  }

  bool fills_memory(std::size_t bytes_of_each) const {
    const double all = static_cast<double>(bytes_of_each) * static_cast<double>(cluster_->here().size());
    return all > kMuchMemory * static_cast<double>(available_memory());
  }

  std::size_t index_of(NodeId id) const {
    return static_cast<std::size_t>(id.value - nodes_.front()->endpoint().id().value);
  }

  std::size_t loaders_here() const {
    return static_cast<std::size_t>(std::ranges::count_if(cluster_->here(), [&](NodeId id) {
      return id.value % info_.stages == 0 &&
             !plan_.training.shards_of(static_cast<std::size_t>(id.value / info_.stages)).empty();
    }));
  }

  const TrainingRequest& request_;
  const std::unique_ptr<const RunPlan> made_plan_;
  const RunPlan& plan_ = *made_plan_;
  const std::unique_ptr<Cluster> cluster_;
  bool crowded_ = false;  // so that what rests gives back its memory
  LearnersOfRun learners_{request_, plan_};
  const MessagePool pool_;                    // of all nodes: few of them need theirs at a time
  std::vector<std::unique_ptr<Node>> nodes_;  // those that live here
  RunInfo info_;
  std::optional<CheckpointStore> store_;
  std::uint64_t checkpoint_ = 0;  // the one it goes on from
  std::string trace_;             // of the nodes that lived here
};

// A launcher that started several of us without MPI between them: all would train the same.
void refuse_lonely_tasks(const Settings& settings) {
  const int tasks = tasks_without_mpi();
  if (tasks > 1 && settings.cluster.get<std::string>("transport") == "auto")
    throw RequestError(fmt::format(
        "srun started {} tasks that know nothing of each other: use srun --mpi=pmix (Open MPI) or "
        "--mpi=pmi2 (MPICH), or cluster.transport = \"threads\" for {} separate runs",
        tasks, tasks));
}

}  // namespace

Settings settings_for(Config config, const Job* job) {
  if (job != nullptr && job->size() > 1) config.prefer_nodes(job->size());
  Settings settings = config.resolve();
  if (job == nullptr) refuse_lonely_tasks(settings);
  return settings;
}

RunResult run_training(const TrainingRequest& request) {
  Training training(request);
  const FlushDenormals flush;  // in all nodes alike, or sums would depend on who adds up
  return training.run();
}

}  // namespace veche
