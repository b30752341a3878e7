#include "veche/runtime/training.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <exception>
#include <thread>

#include "veche/base/random.h"
#include "veche/comm/threads/threads.h"
#include "veche/data/partition.h"
#include "veche/data/source.h"
#include "veche/model/zoo.h"
#include "veche/runtime/checkpoint.h"
#include "veche/runtime/files.h"
#include "veche/runtime/powers.h"
#include "veche/runtime/recorder.h"
#include "veche/runtime/run_folder.h"
#include "veche/runtime/summary.h"

namespace veche {
namespace {

constexpr Tag kStrategyTag{1};
constexpr Tag kControlTag{2};

// All that is decided and made before the first thread starts. Making it checks the whole request.
class Training {
 public:
  explicit Training(const TrainingRequest& request) : request_(request), settings_(request.settings) {
    open_everything();
    make_plan();
    make_learners();
  }

  TrainingResult run() {
    std::optional<RunFolder> folder;
    if (!request_.resume.empty()) folder = RunFolder::open(request_.resume);
    std::vector<NodeState> resumed(learners_.size());
    if (folder) {
      store_.emplace(folder->checkpoints(), node_count());
      read_newest_checkpoint(*folder, resumed);
      write_file(folder->config(), settings_.to_toml());  // its length may have been changed
    } else if (request_.keep) {
      folder = RunFolder::create(settings_);
      store_.emplace(folder->checkpoints(), node_count());
    }
    info_.folder = folder ? folder->path() : std::filesystem::path();
    info_.first_step = resumed.front().step;
    // All that could be recorded of it already is, with the times it took.
    const bool had_ended = folder && info_.first_step >= plan_.steps && std::filesystem::exists(folder->summary());
    if (had_ended && request_.observer != nullptr)
      request_.observer->on_notice(fmt::format("{} had ended; --set run.{}=.. makes it longer", folder->path().string(),
                                               settings_.run.has("steps") ? "steps" : "epochs"));
    std::optional<Recorder> recorder;
    if (folder && !had_ended) recorder.emplace(*folder, info_, request_.observer);
    if (request_.observer != nullptr) request_.observer->on_start(info_);

    TrainingResult result;
    result.last = run_nodes(recorder ? &*recorder : static_cast<Observer*>(request_.observer), resumed);
    result.info = info_;
    for (const auto& learner : learners_)
      result.parameters.emplace_back(learner->parameters().begin(), learner->parameters().end());
    if (folder && !had_ended && result.last.stopped != "interrupted")
      write_file(folder->summary(), summary(result).dump(2) + "\n");
    return result;
  }

 private:
  std::size_t batch() const { return static_cast<std::size_t>(settings_.data.get<std::int64_t>("batch")); }
  int node_count() const { return settings_.strategy_info.one_learner ? 1 : settings_.nodes(); }

  void open_everything() {
    const StrategyInfo& info = settings_.strategy_info;
    const int nodes = settings_.nodes();
    powers_ = read_powers(settings_.cluster, nodes);
    if (!settings_.brings_data) {
      source_ = open_data(settings_.data, settings_.seed());
      const int idle = info.idle_nodes(settings_.strategy);
      if (idle >= nodes) throw RequestError(fmt::format("cluster.nodes = {} leaves nobody to train: {} serve", nodes, idle));
      PartitionHints hints{.speed = powers_.speed,
                           .label = [&](std::size_t sample) { return source_.train->label(sample); },
                           .classes = source_.train->classes()};
      if (!hints.speed.empty()) hints.speed.erase(hints.speed.begin(), hints.speed.begin() + idle);
      partition_ = partition(source_.train->size(), nodes - idle, settings_.data.get<std::string>("partition"),
                             settings_.seed(), hints);
      partition_.insert(partition_.begin(), static_cast<std::size_t>(idle), {});
    }
    if (!info.uses_topology) return;
    const int graph_nodes = info.graph_nodes(settings_.strategy, nodes);
    if (graph_nodes == 1 && nodes > 1) return;  // a single group has nobody to talk to
    topology_ = make_topology({.graph = settings_.topology.get<std::string>("graph"),
                               .weights = settings_.topology.get<std::string>("weights"),
                               .nodes = graph_nodes,
                               .seed = settings_.seed(),
                               .directed_allowed = info.directed_graph});
  }

  void make_plan() {
    const Options& run = settings_.run;
    const bool one_learner = settings_.strategy_info.one_learner;
    std::vector<std::size_t> sizes;
    for (const auto& shard : partition_) sizes.push_back(shard.size());
    const bool repeat = settings_.data.get<std::string>("uneven") == "repeat";
    samples_ = SamplePlan(sizes, batch(), one_learner ? std::vector<std::uint64_t>{} : powers_.train_every,
                          repeat ? SamplePlan::Uneven::repeat : SamplePlan::Uneven::wait);
    const double per_epoch = settings_.brings_data ? 0 : static_cast<double>(samples_.steps_per_epoch());
    plan_.steps = run.has("steps")
                      ? static_cast<std::uint64_t>(run.get<std::int64_t>("steps"))
                      : std::max<std::uint64_t>(1, std::llround(run.get<double>("epochs") * per_epoch));
    const auto every = [&](const char* key) {
      const auto steps = static_cast<std::uint64_t>(run.get<std::int64_t>(key));
      return steps != 0 || settings_.brings_data ? steps : samples_.steps_per_epoch();
    };
    plan_.evaluate_every = every("eval_every");
    plan_.checkpoint_every = every("checkpoint_every");
    if (run.has("target_accuracy")) {
      plan_.target_accuracy = run.get<double>("target_accuracy");
      if (*plan_.target_accuracy > 1) throw RequestError("run.target_accuracy is a fraction, such as 0.9 for 90 %");
    }
    plan_.seed = settings_.seed();
    read_eval_mode(run.get<std::string>("eval"));
    plan_.clip = settings_.optimizer.get<double>("clip");
    plan_.step_without_samples = settings_.strategy_info.shares_gradients;
    plan_.strategy_steps = settings_.strategy_info.makes_the_step;
    plan_.own_data = settings_.brings_data;
    plan_.samples = samples_;
    schedule_.emplace(settings_.optimizer, Schedule::Plan{plan_.steps, std::max(per_epoch, 1.0), settings_.nodes()});

    info_.strategy = settings_.strategy_info.name;
    info_.topology = topology_ ? topology_->describe() : "";
    info_.model = request_.learner ? "own" : settings_.model.get<std::string>("name");
    info_.data = settings_.brings_data ? "" : source_.name;
    info_.nodes = settings_.nodes();
    info_.steps = plan_.steps;
    info_.steps_per_epoch = per_epoch;
  }

  void read_eval_mode(const std::string& mode) {
    constexpr std::string_view kSample = "sample:";
    if (mode == "average") return;
    plan_.evaluate_own = mode == "all" ? LoopPlan::Who::all : LoopPlan::Who::sample;
    if (mode == "all") return;
    const char* end = mode.data() + mode.size();
    const char* number = mode.starts_with(kSample) ? mode.data() + kSample.size() : end;
    const auto [stop, error] = std::from_chars(number, end, plan_.sample_size);
    if (error != std::errc() || stop != end || plan_.sample_size < 1)
      throw RequestError(fmt::format("run.eval = \"{}\" does not exist; choose average, all or sample:K, such as sample:3", mode));
  }

  void make_learners() {
    ModelSpec spec;
    spec.name = settings_.model.get<std::string>("name");
    spec.options = settings_.model;
    spec.seed = settings_.seed();
    spec.nodes = settings_.nodes();
    if (!settings_.brings_data) {
      spec.input = source_.train->shape();
      spec.classes = settings_.model.get<int>("classes", source_.train->classes());
      if (spec.classes < source_.train->classes())
        throw RequestError(fmt::format("model.classes = {} is too few: {} has {} classes", spec.classes, source_.name,
                                       source_.train->classes()));
    }
    for (int i = 0; i < node_count(); ++i) {
      spec.node = NodeId{i};
      if (settings_.model.get<std::string>("start") == "different")
        spec.seed = RandomStream(settings_.seed(), "start", static_cast<std::uint64_t>(i)).next();
      learners_.push_back(request_.learner ? request_.learner(NodeId{i}) : make_learner(spec));
      optimizers_.push_back(make_optimizer(settings_.optimizer, learners_.back()->parameters().size()));
    }
    info_.parameters = learners_.front()->parameters().size();
  }

  void read_newest_checkpoint(const RunFolder& folder, std::vector<NodeState>& states) {
    const auto step = store_->newest([&](const std::string& sentence) {
      if (request_.observer != nullptr) request_.observer->on_notice(sentence);
    });
    if (!step) {
      if (request_.observer != nullptr)
        request_.observer->on_notice(folder.path().string() + " has no checkpoint yet: starting from the beginning");
      return;
    }
    // Strategies' own state is not made yet: it is read where it is made.
    for (std::size_t i = 0; i < states.size(); ++i) states[i].step = *step;
  }

  Evaluation run_nodes(Observer* observer, const std::vector<NodeState>& resumed) {
    ThreadsCluster cluster(node_count());
    Prefetcher prefetcher;
    const int wanted = settings_.cluster.get<int>("slots");
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    Slots slots(wanted > 0 ? wanted : cores);
    static const std::atomic<bool> never = false;
    const std::atomic<bool>& interrupted = request_.interrupted != nullptr ? *request_.interrupted : never;

    std::vector<Evaluation> results(learners_.size());
    std::vector<std::exception_ptr> errors(learners_.size());
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    for (int i = 0; i < node_count(); ++i) {
      endpoints.push_back(cluster.endpoint(NodeId{i}));
      if (request_.network) endpoints.back() = request_.network(std::move(endpoints.back()));
    }
    const auto node_main = [&](std::size_t i) {
      // The endpoint goes with the thread: a node that fails is lost to the others, who then do not wait for it.
      const std::unique_ptr<Endpoint> endpoint = std::move(endpoints[i]);
      try {
        results[i] = run_node(*endpoint, i == 0 ? observer : nullptr, resumed[i], prefetcher, slots, interrupted);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < learners_.size(); ++i) threads.emplace_back(node_main, i);
    }
    rethrow_cause(errors);
    return results.front();
  }

  Evaluation run_node(Endpoint& endpoint, Observer* observer, NodeState state, Prefetcher& prefetcher, Slots& slots,
                      const std::atomic<bool>& interrupted) {
    const auto i = static_cast<std::size_t>(endpoint.id().value);
    MessagePool pool;
    Patience patience;
    Channel strategy_channel{endpoint, pool, patience, kStrategyTag};
    Channel control_channel{endpoint, pool, patience, kControlTag};
    Learner& learner = *learners_[i];
    const auto strategy = settings_.strategy_info.make(
        {strategy_channel, learner, *optimizers_[i], *schedule_, topology_, samples_, powers_.mix_every,
         settings_.strategy, settings_.optimizer, settings_.seed()});
    if (state.step > 0) {
      const std::uint64_t step = state.step;
      state.vectors = state_vectors(learner, *optimizers_[i], *strategy);
      store_->read(step, endpoint.id(), state);
    }
    std::optional<Loader> loader;
    auto shards = shards_of(i);
    if (!shards.empty())
      loader.emplace(source_.train, std::move(shards),
                     Loader::Plan{batch(), samples_.loader_steps_per_epoch(i), settings_.seed(),
                                  samples_.taken(i, state.step)},
                     prefetcher);
    return train_node({.strategy_channel = strategy_channel,
                       .control_channel = control_channel,
                       .learner = learner,
                       .loader = loader ? &*loader : nullptr,
                       .test = source_.test.get(),
                       .optimizer = *optimizers_[i],
                       .strategy = *strategy,
                       .schedule = *schedule_,
                       .slots = slots,
                       .interrupted = interrupted,
                       .observer = observer,
                       .checkpointer = store_ ? &*store_ : nullptr,
                       .resumed = state},
                      plan_);
  }

  std::vector<Loader::Shard> shards_of(std::size_t learner) const {
    std::vector<Loader::Shard> shards;
    for (std::size_t node = 0; node < partition_.size(); ++node)
      if (!partition_[node].empty() && (settings_.strategy_info.one_learner || node == learner))
        shards.push_back({static_cast<int>(node), partition_[node]});
    return shards;
  }

  // Those who lost a peer only tell the consequence; somebody else has the cause.
  static void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
    std::exception_ptr consequence;
    for (const std::exception_ptr& error : errors) {
      if (!error) continue;
      try {
        std::rethrow_exception(error);
      } catch (const PeerLost&) {
        if (!consequence) consequence = error;
      }
    }
    if (consequence) std::rethrow_exception(consequence);
  }

  const TrainingRequest& request_;
  const Settings settings_;
  NodePowers powers_;
  DataSource source_;
  Partition partition_;
  std::shared_ptr<const Topology> topology_;
  SamplePlan samples_;
  LoopPlan plan_;
  std::optional<Schedule> schedule_;
  RunInfo info_;
  std::vector<std::unique_ptr<Learner>> learners_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::optional<CheckpointStore> store_;
};

}  // namespace

TrainingResult run_training(const TrainingRequest& request) { return Training(request).run(); }

}  // namespace veche
