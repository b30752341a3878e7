#include "veche/runtime/training.h"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "veche/base/random.h"
#include "veche/comm/threads/threads.h"
#include "veche/model/weights.h"
#include "veche/model/zoo.h"
#include "veche/runtime/checkpoint.h"
#include "veche/runtime/files.h"
#include "veche/runtime/model_export.h"
#include "veche/runtime/recorder.h"
#include "veche/runtime/run_folder.h"
#include "veche/runtime/run_plan.h"
#include "veche/runtime/summary.h"

namespace veche {
namespace {

constexpr Tag kStrategyTag{1};
constexpr Tag kControlTag{2};

// Then the weights come from there; the file they began with may be gone.
bool has_checkpoint(const TrainingRequest& request, const RunPlan& plan) {
  if (request.resume.empty()) return false;
  const CheckpointStore store(RunFolder::open(request.resume).checkpoints(), plan.learners());
  return store.newest([](const std::string&) {}).has_value();
}

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

// A node with everything that is its own. The endpoint goes with it: a node that ends is lost to the others,
// who then do not wait for it.
struct Node {
  Node(const TrainingRequest& request, const RunPlan& plan, std::unique_ptr<Endpoint> given)
      : endpoint(std::move(given)),
        learner(learner_of(request, plan, endpoint->id())),
        optimizer(make_optimizer(plan.settings.optimizer, learner->parameters().size())),
        strategy(plan.settings.strategy_info.make(
            {strategy_channel, *learner, *optimizer, plan.schedule, plan.topology, plan.samples,
             plan.powers.mix_every, plan.settings.strategy, plan.settings.optimizer, plan.settings.seed()})) {
  }

  std::unique_ptr<Endpoint> endpoint;
  MessagePool pool;
  Patience patience;
  Channel strategy_channel{*endpoint, pool, patience, kStrategyTag};
  Channel control_channel{*endpoint, pool, patience, kControlTag};
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Strategy> strategy;
  NodeState resumed;

  std::size_t index() const { return static_cast<std::size_t>(endpoint->id().value); }
};

// Those who lost a peer only tell the consequence; somebody else has the cause.
void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
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

// Making it checks the whole request; nothing is written before `run`.
class Training {
 public:
  explicit Training(const TrainingRequest& request) : request_(request), plan_(request.settings) {
    ThreadsCluster cluster(plan_.learners());
    for (int i = 0; i < plan_.learners(); ++i) {
      auto endpoint = cluster.endpoint(NodeId{i});
      if (request_.network) endpoint = request_.network(std::move(endpoint));
      nodes_.push_back(std::make_unique<Node>(request_, plan_, std::move(endpoint)));
    }
    info_.strategy = plan_.settings.strategy_info.name;
    info_.topology = plan_.topology ? plan_.topology->describe() : "";
    info_.model = request_.learner ? "own" : plan_.settings.model.get<std::string>("name");
    info_.data = plan_.source.name;
    info_.nodes = plan_.settings.nodes();
    info_.parameters = nodes_.front()->learner->parameters().size();
    info_.steps = plan_.loop.steps;
    info_.steps_per_epoch = plan_.steps_per_epoch;
  }

  TrainingResult run() {
    std::optional<RunFolder> folder;
    if (!request_.resume.empty()) {
      folder = RunFolder::open(request_.resume);
      store_.emplace(folder->checkpoints(), plan_.learners());
      read_newest_checkpoint(*folder);
      write_file(folder->config(), plan_.settings.to_toml());  // its length may have been changed
    } else if (request_.keep) {
      folder = RunFolder::create(plan_.settings);
      store_.emplace(folder->checkpoints(), plan_.learners());
    }
    if (folder) write_layout(*folder, info_.model, *nodes_.front()->learner);
    info_.folder = folder ? folder->path() : std::filesystem::path();
    info_.first_step = nodes_.front()->resumed.step;
    // All that could be recorded of it already is, with the times it took.
    const bool had_ended =
        folder && info_.first_step >= plan_.loop.steps && std::filesystem::exists(folder->summary());
    if (had_ended)
      notice(fmt::format("{} had ended; --set run.{}=.. makes it longer", folder->path().string(),
                         plan_.settings.run.has("steps") ? "steps" : "epochs"));
    std::optional<Recorder> recorder;
    if (folder && !had_ended) recorder.emplace(*folder, info_, request_.observer);
    if (request_.observer != nullptr) request_.observer->on_start(info_);

    TrainingResult result;
    result.info = info_;
    result.parameters.resize(nodes_.size());
    result.last =
        run_nodes(recorder ? &*recorder : static_cast<Observer*>(request_.observer), result.parameters);
    if (folder && !had_ended && result.last.stopped != "interrupted")
      write_file(folder->summary(), summary(result).dump(2) + "\n");
    return result;
  }

 private:
  void notice(const std::string& sentence) const {
    if (request_.observer != nullptr) request_.observer->on_notice(sentence);
  }

  void read_newest_checkpoint(const RunFolder& folder) {
    const auto step = store_->newest([&](const std::string& sentence) { notice(sentence); });
    if (!step) return notice(folder.path().string() + " has no checkpoint yet: starting from the beginning");
    for (const auto& node : nodes_) {
      node->resumed.vectors = state_vectors(*node->learner, *node->optimizer, *node->strategy);
      store_->read(*step, node->endpoint->id(), node->resumed);
    }
  }

  Evaluation run_nodes(Observer* observer, std::vector<std::vector<float>>& parameters) {
    Prefetcher prefetcher(plan_.settings.data.get<int>("workers"));
    const int wanted = plan_.settings.cluster.get<int>("slots");
    Slots slots(wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    std::vector<Evaluation> results(nodes_.size());
    std::vector<std::exception_ptr> errors(nodes_.size());
    const auto node_main = [&](std::size_t i) {
      const std::unique_ptr<Node> node = std::move(nodes_[i]);
      try {
        results[i] = run_node(*node, i == 0 ? observer : nullptr, prefetcher, slots);
        parameters[i].assign(node->learner->parameters().begin(), node->learner->parameters().end());
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < results.size(); ++i) threads.emplace_back(node_main, i);
    }
    rethrow_cause(errors);
    return results.front();
  }

  Evaluation run_node(Node& node, Observer* observer, Prefetcher& prefetcher, Slots& slots) {
    static const std::atomic<bool> never = false;
    std::optional<Loader> loader;
    if (auto shards = plan_.shards_of(node.index()); !shards.empty())
      loader.emplace(plan_.source.train, std::move(shards),
                     Loader::Plan{.batch = plan_.batch(),
                                  .steps_per_epoch = plan_.samples.loader_steps_per_epoch(node.index()),
                                  .seed = plan_.settings.seed(),
                                  .augment = plan_.augment,
                                  .first_step = plan_.samples.taken(node.index(), node.resumed.step)},
                     prefetcher);
    return train_node({.strategy_channel = node.strategy_channel,
                       .control_channel = node.control_channel,
                       .learner = *node.learner,
                       .loader = loader ? &*loader : nullptr,
                       .test = plan_.source.test.get(),
                       .optimizer = *node.optimizer,
                       .strategy = *node.strategy,
                       .schedule = plan_.schedule,
                       .slots = slots,
                       .interrupted = request_.interrupted != nullptr ? *request_.interrupted : never,
                       .observer = observer,
                       .checkpointer = store_ ? &*store_ : nullptr,
                       .resumed = node.resumed},
                      plan_.loop);
  }

  const TrainingRequest& request_;
  const RunPlan plan_;
  std::vector<std::unique_ptr<Node>> nodes_;
  RunInfo info_;
  std::optional<CheckpointStore> store_;
};

}  // namespace

TrainingResult run_training(const TrainingRequest& request) { return Training(request).run(); }

}  // namespace veche
