#include "veche/runtime/run/grid_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "veche/base/files/files.h"
#include "veche/base/machine/denormals.h"
#include "veche/comm/tags.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/errors.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/checkpoint/members_checkpoints.h"
#include "veche/runtime/checkpoint/saved_model.h"
#include "veche/runtime/config/quantity.h"
#include "veche/runtime/plan/learner_of.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/record/recorder.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/run/members_who_lend.h"
#include "veche/train/views/catch_up.h"
#include "veche/train/views/end_word.h"
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

// Passes over the data that had been made at a step.
struct EpochsMade {
  std::uint64_t step = 0;
  double epochs = 0;
};

// When a view begins: the same for all its members, as it follows from what they have agreed on. Nodes in
// step have all come equally far; of others the mean counts. Newcomers do not know it.
EpochsMade epochs_made(const View& view, bool in_step) {
  EpochsMade made;
  double count = 0, steps = 0;
  for (const Standing& one : view.standing) {
    if (one.epochs < 0) continue;
    if (in_step && (one.done_step > made.step || (one.done_step == made.step && one.epochs > made.epochs)))
      made = {one.done_step, one.epochs};
    if (in_step) continue;
    count += 1;
    steps += (static_cast<double>(one.done_step) - steps) / count;
    made.epochs += (one.epochs - made.epochs) / count;
    made.step = static_cast<std::uint64_t>(std::llround(steps));
  }
  return made;
}

constexpr Time kToSeeOff{60};  // a newcomer that is on its way when the run ends, opening its data perhaps
constexpr Time kToAnswer{10};
constexpr Time kBetweenLooks{0.2};
constexpr int kTriesForTheEnd = 3;
constexpr std::size_t kMostNames = 8;   // of members, in a line
constexpr std::uint64_t kWaiting = 64;  // a child of tags::state, on which nothing is sent

}  // namespace

class GridTraining::Member {
 public:
  explicit Member(GridRequest request)
      : request_(std::move(request)),
        staged_(request_.settings.is_cut()),
        here_(staged_ ? 1 : request_.settings.nodes()),
        own_data_(!request_.settings.brings_data && request_.settings.grid.get<std::string>("data") == "own"),
        wait_limit_(read_duration("grid.wait_limit", request_.settings.grid.at("wait_limit"))) {
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
    grid_ = &grid;
    if (folder != nullptr) {
      info_.folder = folder->path();
      checkpoints_.emplace(*folder, staged_ ? request_.settings.stages() : here_, staged());
      if (how == As::returned) resume(*folder);
      write_models_layout(*folder);
    }
    for (const auto& part : parts_)
      if (how == As::newcomer) part->self().has_state = false;
    folder_ = folder;
    if (how == As::founder) made_ = EpochsMade{};
    try {
      if (!staged_ && how != As::founder) catch_up_with(grid);
      if (how != As::founder)
        if (const auto end = end_told()) throw RunEnded{end->last.step};
      lend_state(grid);
      train(grid);
    } catch (const RunEnded& ended) {
      return take_end(grid, ended.step);
    }
    RunResult result = this->result();
    const bool ended = result.last.stopped != StopReason::interrupted;
    if (ended)
      tell_end(views, result.last);
    else
      save();
    others_go_on_ = views.leave();
    if (recorder_) recorder_->finish();
    if (folder != nullptr && ended) write_file(folder->summary(), summary(result).dump(2) + "\n");
    if (ended) grid.see_off(kToSeeOff);
    grid.serve({});
    return result;
  }

  bool others_go_on() const { return others_go_on_; }

 private:
  void train(grid::Grid& grid) {
    Views& views = grid.views();
    Prefetcher prefetcher(request_.settings.data.get<int>("workers"));
    const Time began = now();
    while (true) {
      const std::optional<View> view = next_view(views);
      if (!view) break;
      if (waits_for_members(*view)) {
        wait_for_members(*view, began);
        if (interrupted()) break;
        continue;
      }
      if (staged_) call_by_name(grid);
      if (at_own_pace() && !parts_.front()->self().has_state && someone_has_state(*view)) {
        catch_up_with(grid);
        if (!parts_.front()->self().has_state && !interrupted()) continue;
      }
      one_view(*view, prefetcher);
      if (interrupted() || std::ranges::all_of(parts_, [](const auto& part) { return part->ended(); })) break;
    }
  }

  // So many shall begin together: until they are here nobody trains. A run that has begun waits for nobody.
  bool waits_for_members(const View& view) const {
    return view.first_step == 0 && view.members < request_.settings.grid.get<int>("wait_for");
  }

  void wait_for_members(const View& view, Time began) {
    const int wanted = request_.settings.grid.get<int>("wait_for");
    notice(fmt::format("{} of {} members are here{}: training begins when all are", view.members, wanted,
                       names_here()));
    try {
      view.cluster->run([&](NodeId id) {
        const auto endpoint = view.cluster->endpoint(id);
        while (!interrupted() && now() - began < wait_limit_)
          endpoint->receive({}, tags::state.child(kWaiting), endpoint->now() + kBetweenLooks);
      });
    } catch (const ViewChanged&) {
      return;
    } catch (const PeerLost&) {
      return;
    }
    if (interrupted()) return;
    grid_->views().leave();
    throw RunError(
        fmt::format("grid.wait_for = {}: only {} of {} members have come within {} (grid.wait_limit); "
                    "nothing was trained",
                    wanted, view.members, wanted, request_.settings.grid.get<std::string>("wait_limit")));
  }

  // " (a, b and 3 more)"
  std::string names_here() const {
    std::string names;
    std::size_t count = 0;
    for (const grid::MemberStatus& one : grid_->status().members) {
      if (one.seat < 0 || count++ >= kMostNames) continue;
      names += (names.empty() ? "" : ", ") + one.member.name;
    }
    if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
    return names.empty() ? "" : " (" + names + ")";
  }

  static Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

  // What newcomers will ask for, from now on.
  void tell_end(Views& views, const Evaluation& last) {
    Message word = message_of_end({last, info_.epoch(last.step)}, pool_of_words_);
    lending_->end(parts_.front()->self(), std::move(word), !staged_);
    views.end(last.step);
  }

  // Nothing: nobody who can be asked says that the run has ended.
  std::optional<EndOfRun> end_told() const {
    for (const grid::MemberId& id : grid_->donors())
      if (const auto word = grid_->fetch(id, "end", 0, grid::kMostOfAPiece, kToAnswer);
          word && word->size() > 0)
        return end_in(*word);
    return {};
  }

  // The run has ended before this member was let in, or while it was away: it takes the model that came of
  // it, and leaves what those who took part leave.
  RunResult take_end(grid::Grid& grid, std::uint64_t step) {
    NodeSelf& self = parts_.front()->self();
    std::optional<EndOfRun> end;
    for (int tries = 0; !staged_ && tries < kTriesForTheEnd && !interrupted(); ++tries) {
      end = end_told();
      if (!end) break;
      if (!self.has_state || self.step != end->last.step) fetch_state(grid);
      if (self.has_state && self.step == end->last.step) break;
    }
    grid.views().leave();
    grid.serve({});
    if (!end || !self.has_state || self.step != end->last.step)
      throw RunError(fmt::format("the run ended after step {}, before this member was let in; {}", step,
                                 staged_ ? "of a model in stages only those who took part have it all"
                                         : "the members that have its model are gone"));
    notice(fmt::format("the run ended after step {}, before this member was let in; the final model is here",
                       end->last.step));
    const RunPlan plan = plan_alone();
    describe(plan.training, end->last.step);
    info_.nodes = static_cast<int>(end->last.nodes.size());
    info_.steps = info_.epochs_at = end->last.step;
    info_.steps_per_epoch = plan.training.steps_per_epoch;
    info_.epochs_before = end->epochs;
    if (checkpoints_) checkpoints_->count_epochs(info_);
    save();
    RunResult result = this->result();
    result.last = end->last;
    if (folder_ == nullptr) return result;
    recorder_.emplace(*folder_, info_, nullptr);
    recorder_->on_evaluation(end->last);
    recorder_->finish();
    write_file(folder_->summary(), summary(result).dump(2) + "\n");
    return result;
  }

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
    const auto lending = lending_;
    if (!staged_) parts_.front()->self().lending = lending;
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
    if (shared() == Shared::nothing && parts_.front()->self().has_state) return;  // it has its own model
    fetch_state(grid);
  }

  Shared shared() const {
    const StrategyInfo& info = find_strategy(request_.settings.strategy.get<std::string>("name"));
    return shared_by(info, request_.settings.strategy);
  }

  void fetch_state(grid::Grid& grid) {
    MembersWhoLend lenders(grid, request_.interrupted);
    if (!lenders.wait_for_one()) return;
    NodeSelf& self = parts_.front()->self();
    const CaughtUp caught = catch_up(self, lenders, shared());
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
    for (const auto& part : parts_) {
      standing.push_back(part->standing());
      standing.back().epochs = epochs_at(standing.back().done_step);
    }
    try {
      return views.next(standing);
    } catch (const RunEnded&) {
      throw;
    } catch (...) {
      save();
      throw;
    }
  }

  // Below 0: nobody has told this member.
  double epochs_at(std::uint64_t step) const {
    if (begun_) return std::max(0.0, info_.epoch(step));
    return made_ && made_->step == step ? made_->epochs : -1;
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
    const PlanOfView plan = [&](std::span<const DataWord> words) { return plan_of(view, words, first); };
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

  std::unique_ptr<const TrainingPlan> plan_of(const View& view, std::span<const DataWord> words,
                                              NodeId first) const {
    const EpochsMade made = epochs_made(view, !at_own_pace());
    NodesInView nodes{
        .first_here = first.value, .here = here_, .epochs_at = made.step, .epochs_before = made.epochs};
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
    const EpochsMade made = epochs_made(view, !at_own_pace());
    info_.epochs_at = made.step;
    info_.epochs_before = made.epochs;
    if (checkpoints_) checkpoints_->count_epochs(info_);
    if (!begun_) {
      begun_ = true;
      describe(plan, first_step);
      if (folder_ != nullptr) recorder_.emplace(*folder_, info_, request_.observer);
      late_.next = recorder_ ? &*recorder_ : static_cast<Observer*>(request_.observer);
      if (request_.observer != nullptr) request_.observer->on_start(info_);
    }
    if (recorder_) recorder_->on_view(info_);
    if (request_.observer != nullptr) request_.observer->on_view(info_);
    const bool some_wait = info_.nodes < view.nodes();
    notice(fmt::format("view {}: {} node{}{}{} from step {}{}{}", view.number, info_.nodes,
                       info_.nodes == 1 ? "" : "s", some_wait ? fmt::format(" of {}", view.nodes()) : "",
                       names_here(), first_step, told.empty() ? "" : "; this member ", told));
  }

  // What does not change with views.
  void describe(const TrainingPlan& plan, std::uint64_t first_step) {
    info_.first_step = first_step;
    info_.strategy = request_.settings.strategy.get<std::string>("name");
    info_.topology = plan.topology ? plan.topology->describe() : "";
    info_.codec = plan.compression ? plan.compression->spec.word() : "";
    info_.model = model();
    info_.data = opened_.source.name;
    info_.stages = request_.settings.stages();
    info_.parameters = plan.pipeline ? plan.pipeline->parameter_count()
                                     : parts_.front()->self().learner->parameters().size();
  }

  void resume(const RunFolder& folder) {
    if (staged_) return resume_stage(folder);
    const CheckpointStore& store = checkpoints_->store();
    const auto step = checkpoints_->newest([&](const DamagedPiece& piece) { notice(piece.sentence()); });
    if (!step && founded_alone()) {
      made_ = EpochsMade{};
      return;
    }
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
    know_epochs();
  }

  // Nobody else was ever in its view, which has made no step that was kept: the run begins with this member.
  bool founded_alone() const {
    const grid::Status status = grid_->status();
    return status.view > 0 && status.first_step == 0 &&
           std::ranges::all_of(status.members, [&](const grid::MemberStatus& one) {
             return one.seat < 0 || one.member.id == grid_->me();
           });
  }

  void know_epochs() {
    const std::uint64_t step = parts_.front()->self().step;
    if (const auto epochs = checkpoints_->epochs(step)) made_ = EpochsMade{step, *epochs};
  }

  void resume_stage(const RunFolder& folder) {
    NodeSelf& self = parts_.front()->self();
    const std::optional<int> stage = checkpoints_->stage();
    if (stage) {
      staged()->hold(self, *stage);
      NodeState state = state_of(self);
      if (checkpoints_->read_stage(*stage, state,
                                   [&](const DamagedPiece& piece) { notice(piece.sentence()); })) {
        take(self, state);
        return know_epochs();
      }
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
  const Time wait_limit_;
  NodeFolders opened_;
  const MessagePool pool_;
  std::vector<std::unique_ptr<ViewPart>> parts_;  // by node of this process
  const RunFolder* folder_ = nullptr;
  std::optional<MembersCheckpoints> checkpoints_;
  std::optional<Recorder> recorder_;
  LateObserver late_;
  RunInfo info_;
  bool begun_ = false;
  std::optional<EpochsMade> made_;  // before the first view; none: nobody has told
  grid::Grid* grid_ = nullptr;      // while it runs
  const std::shared_ptr<StateLending> lending_ = std::make_shared<StateLending>();
  MessagePool pool_of_words_;
  bool others_go_on_ = false;
};

GridTraining::GridTraining(GridRequest request) : member_(std::make_unique<Member>(std::move(request))) {}
GridTraining::~GridTraining() = default;

DataTraits GridTraining::data() const { return member_->data(); }

bool GridTraining::others_go_on() const { return member_->others_go_on(); }

RunResult GridTraining::run(grid::Grid& grid, As how, const RunFolder* folder) {
  return member_->run(grid, how, folder);
}

}  // namespace veche
