#include "veche/runtime/grid_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "veche/base/denormals.h"
#include "veche/base/files.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/errors.h"
#include "veche/runtime/checkpoint.h"
#include "veche/runtime/learner_of.h"
#include "veche/runtime/members_checkpoints.h"
#include "veche/runtime/members_who_lend.h"
#include "veche/runtime/recorder.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/run_plan.h"
#include "veche/runtime/saved_model.h"
#include "veche/runtime/summary.h"
#include "veche/train/views/catch_up.h"
#include "veche/train/views/view_part.h"

namespace veche {
namespace {

// As many nodes in all as there are in the view.
Settings with_nodes(Settings settings, int nodes) {
  settings.cluster.set("nodes", {std::int64_t{nodes}});
  if (settings.strategy.has("servers") && settings.strategy.get<int>("servers") > nodes)
    settings.strategy.set("servers", {std::int64_t{nodes}});
  return settings;
}

// Passes on what it hears to whoever is there when the run has begun.
class LateObserver : public Observer {
 public:
  void on_progress(const Progress& progress) override {
    if (next != nullptr) next->on_progress(progress);
  }
  void on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) override {
    if (next != nullptr) next->on_nodes(step, nodes);
  }
  void on_measuring() override {
    if (next != nullptr) next->on_measuring();
  }
  void on_testing(double part) override {
    if (next != nullptr) next->on_testing(part);
  }
  void on_evaluation(const Evaluation& evaluation) override {
    if (next != nullptr) next->on_evaluation(evaluation);
  }
  Observer* next = nullptr;
};

}  // namespace

class GridTraining::Member {
 public:
  explicit Member(GridRequest request)
      : request_(std::move(request)),
        staged_(request_.settings.is_cut()),
        here_(staged_ ? 1 : request_.settings.nodes()),
        own_data_(!request_.settings.brings_data &&
                  request_.settings.grid.get<std::string>("data") == "own") {
    check_for_views(request_.settings);
    if (staged_ && request_.learner)
      throw RequestError("pipeline.stages: a learner of this program's own cannot be cut into stages");
    opened_ = open_data_for_views(request_.settings);
    const RunPlan plan = plan_alone();
    auto learners = make_learners(plan, here_);
    for (int i = 0; i < here_; ++i) {
      const auto index = static_cast<std::size_t>(i);
      NodeSelf self(std::move(learners[index]), plan.training);
      const DataWord word{request_.settings.brings_data ? 1 : plan.training.data.partition[index].size(),
                          opened_.source.test != nullptr ? 1U : 0U};
      parts_.push_back(std::make_unique<ViewPart>(std::move(self), word, pool_));
    }
    if (staged_)
      parts_.front()->set_stages(std::make_unique<StagedPart>(
          request_.settings.stages(), [this](int stage) { return make_stage(stage); }));
  }

  DataTraits data() const {
    if (request_.settings.brings_data) return {};
    const Dataset& train = *opened_.source.train;
    const Shape shape = train.shape();
    DataTraits traits{
        {shape.channels, shape.height, shape.width}, train.classes(), opened_.source.class_names, {}, {}};
    if (const auto* pixels = dynamic_cast<const PixelSet*>(&train)) {
      traits.mean = pixels->normalization().mean;
      traits.deviation = pixels->normalization().deviation;
    }
    return traits;
  }

  RunResult run(grid::Grid& grid, As how, const RunFolder* folder) {
    Views& views = grid.views();
    if (at_own_pace()) views.never_stop();
    const FlushDenormals flush;  // in all nodes alike, or sums would depend on who adds up
    if (folder != nullptr) {
      info_.folder = folder->path();
      checkpoints_.emplace(*folder, staged_ ? request_.settings.stages() : here_, staged());
      if (how == As::returned) resume(*folder);
      write_models_layout(*folder);
    }
    for (const auto& part : parts_)
      if (how == As::newcomer) part->self().has_state = false;
    folder_ = folder;
    if (!staged_) {
      if (how != As::founder) catch_up_with(grid);
      lend_state(grid);
    }
    Prefetcher prefetcher(request_.settings.data.get<int>("workers"));
    while (true) {
      const std::optional<View> view = next_view(views);
      if (!view) break;
      if (staged_) call_by_name(grid);
      if (at_own_pace() && !parts_.front()->self().has_state && someone_has_state(*view)) {
        catch_up_with(grid);
        if (!parts_.front()->self().has_state && !interrupted()) continue;
      }
      one_view(*view, prefetcher);
      if (interrupted() || std::ranges::all_of(parts_, [](const auto& part) { return part->ended(); })) break;
    }
    RunResult result = this->result();
    if (result.last.stopped == "interrupted") save();
    views.leave();
    grid.serve({});
    if (recorder_) recorder_->finish();
    if (folder != nullptr && result.last.stopped != "interrupted")
      write_file(folder->summary(), summary(result).dump(2) + "\n");
    return result;
  }

 private:
  bool interrupted() const { return request_.interrupted != nullptr && *request_.interrupted; }
  void notice(const std::string& sentence) const {
    if (request_.observer != nullptr) request_.observer->on_notice(sentence);
  }
  std::string model() const {
    return request_.learner ? "own" : request_.settings.model.get<std::string>("name");
  }

  // As if nobody else were there.
  RunPlan plan_alone() const {
    NodesInView alone{.first_here = 0, .here = here_};
    if (own_data_) alone.samples.assign(static_cast<std::size_t>(here_), 1);
    return {request_.settings, opened_, alone};
  }

  StagedPart* staged() const { return parts_.front()->staged(); }

  NodeSelf make_stage(int stage) const {
    const RunPlan plan = plan_alone();
    TrainingRequest making;
    making.settings = request_.settings;
    LearnersOfRun learners(making, plan);
    return {learners.make(NodeId{stage}), plan.training};
  }

  // How the others know this node in what they say of stages.
  void call_by_name(const grid::Grid& grid) const {
    const grid::MemberId me = grid.me();
    std::uint64_t number = 0;
    std::memcpy(&number, me.bytes.data(), sizeof number);
    staged()->call(number, request_.name.empty() ? grid::short_name(me) : request_.name);
  }

  void write_models_layout(const RunFolder& folder) const {
    const Learner& learner = *parts_.front()->self().learner;
    const auto pipeline = staged_ ? plan_alone().training.pipeline : std::nullopt;
    write_layout(folder, model(), pipeline ? pipeline->parameters : learner.parameter_layout(),
                 pipeline ? pipeline->buffers : learner.buffer_layout(), opened_.source);
  }

  std::vector<std::unique_ptr<Learner>> make_learners(const RunPlan& plan, int count) const {
    TrainingRequest making;
    making.settings = request_.settings;
    making.learner = request_.learner;
    LearnersOfRun learners(making, plan);
    std::vector<std::unique_ptr<Learner>> made;
    for (int i = 0; i < count; ++i)
      made.push_back(learners.make(NodeId{i}, made.empty() ? nullptr : made.front().get()));
    return made;
  }

  void lend_state(grid::Grid& grid) {
    const auto lending = std::make_shared<StateLending>();
    parts_.front()->self().lending = lending;
    grid.serve([lending](const std::string& name, std::uint64_t offset, std::uint32_t length) {
      return lending->give(name, offset, length);
    });
  }

  bool at_own_pace() const {
    return !staged_ && find_strategy(request_.settings.strategy.get<std::string>("name"))
                               .pace(request_.settings.strategy) != Pace::in_step;
  }

  static bool someone_has_state(const View& view) {
    return std::ranges::any_of(view.standing, [](const Standing& one) { return one.state_hash != 0; });
  }

  // Nobody waits for it meanwhile. What cannot be had in this way comes in the first view.
  void catch_up_with(grid::Grid& grid) {
    const StrategyInfo& info = find_strategy(request_.settings.strategy.get<std::string>("name"));
    const Shared shared = shared_by(info, request_.settings.strategy);
    if (shared == Shared::nothing && parts_.front()->self().has_state) return;  // it has a model of its own
    MembersWhoLend lenders(grid, request_.interrupted);
    if (!lenders.wait_for_one()) return;
    NodeSelf& self = parts_.front()->self();
    const CaughtUp caught = catch_up(self, lenders, shared);
    if (caught.of > 0)
      notice(
          fmt::format("fetched {} of {} pieces of step {} from {} member{} while they went on, and is at "
                      "step {} now{}",
                      caught.pieces, caught.of, caught.copied, caught.lenders, caught.lenders == 1 ? "" : "s",
                      self.step, caught.done ? "" : ": the rest comes with the first view"));
    for (const auto& part : parts_) {
      NodeSelf& other = part->self();
      other.is_new = caught.done;
      if (&other == &self || !self.has_state) continue;
      other.common = self.common;
      const StatePieces from(self), to(other);
      for (std::size_t i = 0; i < from.count(); ++i) to.put(i, from[i]);
      other.step = self.step;
      other.has_state = true;
    }
  }

  std::optional<View> next_view(Views& views) {
    std::vector<Standing> standing;
    for (const auto& part : parts_) standing.push_back(part->standing());
    try {
      return views.next(standing);
    } catch (...) {
      save();
      throw;
    }
  }

  void one_view(const View& view, Prefetcher& prefetcher) {
    const std::vector<NodeId> here = view.cluster->here();
    const NodeId first = here.front();
    if (checkpoints_) checkpoints_->enter(view.number, view.nodes(), first);
    static const std::atomic<bool> never = false;
    const NodeServices services{
        .prefetcher = prefetcher,
        .interrupted = request_.interrupted != nullptr ? *request_.interrupted : never,
        .observer = &late_,
        .checkpointer = checkpoints_ ? &*checkpoints_ : nullptr,
        .spare_learner = [this] { return std::move(make_learners(plan_alone(), 1).front()); },
        .speaker = first};
    const PlanOfView plan = [&](std::span<const DataWord> words) { return plan_of(words, first); };
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    for (const NodeId id : here) endpoints.push_back(view.cluster->endpoint(id));
    parts_.front()->on_roles = [&](const std::string& sentence) {
      notice(fmt::format("view {}: {}", view.number, sentence));
    };
    parts_.front()->on_begin = [&](const TrainingPlan& made, const std::string& told) {
      begin(view, made, told);
    };
    const auto leave = [&] {
      for (const auto& part : parts_) part->leave();
    };
    try {
      view.cluster->run([&](NodeId id) {
        const auto i = static_cast<std::size_t>(id.value - first.value);
        parts_[i]->run(std::move(endpoints[i]), view, plan, services);
      });
    } catch (const Diverged&) {
      throw;  // what it has is worth nothing
    } catch (const ViewChanged&) {
      // The engine's own waits.
    } catch (const PeerLost&) {
      // The same.
    } catch (...) {
      leave();
      save();
      throw;
    }
    leave();
  }

  std::unique_ptr<const TrainingPlan> plan_of(std::span<const DataWord> words, NodeId first) const {
    NodesInView nodes{.first_here = first.value, .here = here_};
    for (const DataWord& word : words) {
      if (own_data_) nodes.samples.push_back(word.samples);
      nodes.test = nodes.test && word.has_test != 0;
    }
    const RunPlan plan(with_nodes(request_.settings, static_cast<int>(words.size())), opened_, nodes);
    return std::make_unique<const TrainingPlan>(plan.training);
  }

  // By the thread of the first node here.
  void begin(const View& view, const TrainingPlan& plan, const std::string& told) {
    info_.nodes = staged_ ? static_cast<int>(staged()->roles().nodes.size()) : view.nodes();
    const std::uint64_t first_step = staged_ ? staged()->roles().first_step : view.first_step;
    info_.steps = plan.steps;
    info_.steps_per_epoch = plan.steps_per_epoch;
    if (!begun_) {
      begun_ = true;
      info_.first_step = first_step;
      info_.strategy = request_.settings.strategy.get<std::string>("name");
      info_.topology = plan.topology ? plan.topology->describe() : "";
      info_.codec = plan.compression ? plan.compression->spec.word() : "";
      info_.model = model();
      info_.data = opened_.source.name;
      info_.stages = request_.settings.stages();
      info_.parameters = plan.pipeline ? plan.pipeline->parameter_count()
                                       : parts_.front()->self().learner->parameters().size();
      if (folder_ != nullptr) recorder_.emplace(*folder_, info_, request_.observer);
      late_.next = recorder_ ? &*recorder_ : static_cast<Observer*>(request_.observer);
      if (request_.observer != nullptr) request_.observer->on_start(info_);
    }
    const bool some_wait = info_.nodes < view.nodes();
    notice(fmt::format("view {}: {} node{}{} from step {}{}{}", view.number, info_.nodes,
                       info_.nodes == 1 ? "" : "s", some_wait ? fmt::format(" of {}", view.nodes()) : "",
                       first_step, told.empty() ? "" : "; this member ", told));
  }

  void resume(const RunFolder& folder) {
    if (staged_) return resume_stage(folder);
    const CheckpointStore& store = checkpoints_->store();
    const auto step = checkpoints_->newest([&](const DamagedPiece& piece) { notice(piece.sentence()); });
    if (!step) {
      notice(folder.path().string() + " has no checkpoint yet: the state comes from the others");
      for (const auto& part : parts_) part->self().has_state = false;
      return;
    }
    if (store.nodes_at(*step) != here_)
      throw RequestError(fmt::format("{} was saved by {} nodes of this member: give cluster.nodes={}",
                                     folder.path().string(), store.nodes_at(*step), store.nodes_at(*step)));
    const bool whole = !find_strategy(request_.settings.strategy.get<std::string>("name"))
                            .common_state(request_.settings.strategy);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      NodeSelf& self = parts_[i]->self();
      self.has_state = whole;  // what an outer optimiser had in common is not in the file
      NodeState state = state_of(self);
      store.read(*step, NodeId{static_cast<int>(i)}, state);
      take(self, state);
    }
  }

  void resume_stage(const RunFolder& folder) {
    NodeSelf& self = parts_.front()->self();
    const std::optional<int> stage = checkpoints_->stage();
    if (stage) {
      staged()->hold(self, *stage);
      NodeState state = state_of(self);
      if (checkpoints_->read_stage(*stage, state,
                                   [&](const DamagedPiece& piece) { notice(piece.sentence()); }))
        return take(self, state);
    }
    self.has_state = false;
    notice(folder.path().string() + " has no checkpoint yet: the state comes from the others");
  }

  static void take(NodeSelf& self, const NodeState& state) {
    self.step = self.last_checkpoint = self.last_evaluation = self.mean_step = state.step;
    self.train = state.train;
    self.evaluated_train = state.evaluated;
    self.sent = state.sent;
  }

  // What this member has, by itself: it leaves, or cannot go on.
  void save() {
    if (!checkpoints_) return;
    if (staged_) return checkpoints_->write_stage(parts_.front()->self());
    std::uint64_t step = 0;
    for (const auto& part : parts_) {
      if (!part->self().has_state || part->self().learner == nullptr) return;
      step = std::max(step, part->self().step);
    }
    if (step == 0 ||
        std::ranges::all_of(parts_, [&](const auto& part) { return part->self().last_checkpoint == step; }))
      return;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      checkpoints_->write(step, checkpoints_->seat(i), state_of(parts_[i]->self()));
    checkpoints_->commit(step);
  }

  RunResult result() {
    RunResult result;
    result.info = info_;
    for (const auto& part : parts_) {
      const std::span<const float> x = part->self().learner->parameters();
      result.parameters.emplace_back(x.begin(), x.end());
    }
    const auto& last = parts_.front()->last();
    result.last = last && !interrupted() ? *last : interrupted_at(parts_.front()->self().step);
    for (const auto& log : opened_.source.damage) {
      result.damaged_samples += log->count();
      for (std::string& sentence : log->sentences()) result.damage.push_back(std::move(sentence));
    }
    return result;
  }

  const GridRequest request_;
  const bool staged_;  // each member has one stage of the model
  const int here_;     // nodes of this process
  const bool own_data_;
  NodeFolders opened_;
  const MessagePool pool_;
  std::vector<std::unique_ptr<ViewPart>> parts_;  // by node of this process
  const RunFolder* folder_ = nullptr;
  std::optional<MembersCheckpoints> checkpoints_;
  std::optional<Recorder> recorder_;
  LateObserver late_;
  RunInfo info_;
  bool begun_ = false;
};

GridTraining::GridTraining(GridRequest request) : member_(std::make_unique<Member>(std::move(request))) {}
GridTraining::~GridTraining() = default;

DataTraits GridTraining::data() const { return member_->data(); }

RunResult GridTraining::run(grid::Grid& grid, As how, const RunFolder* folder) {
  return member_->run(grid, how, folder);
}

}  // namespace veche
