#include "veche/runtime/run/grid_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "veche/errors.h"
#include "veche/runtime/checkpoint/member_checkpoints.h"
#include "veche/runtime/run/late_observer.h"
#include "veche/runtime/run/member_catch_up.h"
#include "veche/runtime/run/member_nodes.h"
#include "veche/runtime/run/member_plan.h"
#include "veche/runtime/run/member_resume.h"
#include "veche/runtime/run/member_scheme.h"
#include "veche/runtime/run/member_wait.h"
#include "veche/runtime/run/run_end.h"
#include "veche/runtime/run/session.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/loop/evaluator.h"
#include "veche/train/views/state_donor.h"

namespace veche {
namespace {

constexpr Time kNewcomerLimit{60};  // for a newcomer that is still opening its data when the run ends

bool has_state(const View& view) {
  return std::ranges::any_of(view.status, [](const NodeStatus& one) { return one.state_hash != 0; });
}

}  // namespace

class GridTraining::Member {
 public:
  explicit Member(GridRequest request)
      : request_(std::move(request)),
        plan_(request_.settings, request_.learner, request_.scheme),
        nodes_(plan_),
        session_(request_.settings, request_.learner != nullptr,
                 {.observer = request_.observer, .interrupted = request_.interrupted}) {}

  DataTraits data() const { return DataTraits::of_source(plan_.source()); }

  RunResult run(grid::Grid& grid, As how, const RunFolder* folder) {
    if (plan_.is_async()) grid.views().never_stop();
    const auto arithmetic = TrainingSession::equal_arithmetic();
    grid_ = &grid;
    if (folder != nullptr) open(*folder, how);
    is_newcomer_ = how == As::newcomer;
    if (is_newcomer_) nodes_.discard_state();
    if (how == As::founder) epochs_ = EpochCount{};
    try {
      if (how != As::founder) follow_others();
      lend_state();
      train();
    } catch (const RunEnded& ended) {
      return take_end(ended.step);
    }
    return leave();
  }

 private:
  void open(const RunFolder& folder, As how) {
    session_.use_folder(folder);
    checkpoints_.emplace(*session_.folder(),
                         plan_.in_stages() ? plan_.settings().stages() : plan_.nodes_here(), nodes_.stages());
    if (how == As::returned) epochs_ = resume_member(*grid_, plan_, nodes_, *checkpoints_, session_);
    write_layout();
  }

  void write_layout() {
    session_.write_layout(plan_.in_stages() ? plan_.alone().training.pipeline : std::nullopt,
                          *nodes_.first_self().learner, plan_.source());
  }

  // The model has other inputs than before: nothing of it has been trained.
  void take_scheme(std::shared_ptr<const TableScheme> scheme) {
    plan_.set_scheme(std::move(scheme));
    nodes_ = MemberNodes(plan_);
    if (is_newcomer_) nodes_.discard_state();
    nodes_.first_self().donor = donor_;
    if (checkpoints_) write_layout();
  }

  // Throws RunEnded where the others have ended the run.
  void follow_others() {
    if (plan_.agrees_on_scheme() && !plan_.has_final_scheme())
      if (auto scheme = MemberScheme::fetch(*grid_)) take_scheme(std::move(scheme));
    if (!plan_.in_stages() && (!plan_.agrees_on_scheme() || plan_.has_final_scheme()))
      catch_up_member(*grid_, plan_, nodes_, session_);
    if (const auto end = ask_for_end(*grid_)) throw RunEnded{end->last.step};
  }

  void lend_state() {
    if (!plan_.in_stages()) nodes_.first_self().donor = donor_;
    grid_->serve([this, donor = donor_, vocabulary = request_.vocabulary](
                     const std::string& name, std::uint64_t offset, std::uint32_t length) {
      if (name == MemberScheme::kPiece) return scheme_.told();
      if (vocabulary != nullptr)
        if (auto symbols = vocabulary->answer(name)) return symbols;
      return donor->answer(name, offset, length);
    });
  }

  void train() {
    Prefetcher prefetcher(plan_.settings().data.workers);
    const MemberWait members(plan_.settings());
    while (const std::optional<View> view = next_view()) {
      if (members.is_due(*view)) {
        members.wait(*grid_, *view, session_);
        if (session_.interrupted()) break;
        continue;
      }
      if (plan_.in_stages()) tell_name();
      if (plan_.is_async() && !nodes_.first_self().has_state && has_state(*view)) {
        catch_up_member(*grid_, plan_, nodes_, session_);
        if (!nodes_.first_self().has_state && !session_.interrupted()) continue;
      }
      train_in(*view, prefetcher);
      if (auto scheme = scheme_.take()) {
        take_scheme(std::move(scheme));
        continue;
      }
      if (session_.interrupted() || nodes_.ended()) break;
    }
  }

  std::optional<View> next_view() {
    const std::vector<NodeStatus> status =
        nodes_.status([this](std::uint64_t step) { return epochs_at(step); });
    try {
      return grid_->views().next(status);
    } catch (const RunEnded&) {
      throw;
    } catch (...) {
      save();
      throw;
    }
  }

  // Negative: not known to this member.
  double epochs_at(std::uint64_t step) {
    if (begun_) return std::max(0.0, session_.info().epoch(step));
    return epochs_ && epochs_->step == step ? epochs_->epochs : -1;
  }

  // The number and the name by which messages about stages call this node.
  void tell_name() const {
    const grid::MemberId me = grid_->me();
    std::uint64_t number = 0;
    std::memcpy(&number, me.bytes.data(), sizeof number);
    nodes_.stages()->call(number, request_.name.empty() ? grid::short_name(me) : request_.name);
  }

  void train_in(const View& view, Prefetcher& prefetcher) {
    const NodeId first = view.cluster->here().front();
    if (checkpoints_) checkpoints_->enter(view.number, view.nodes(), first);
    nodes_.first().on_roles = [&](const std::string& sentence) {
      session_.notice(fmt::format("view {}: {}", view.number, sentence));
    };
    if (plan_.agrees_on_scheme())
      for (const auto& part : nodes_.all())
        part->on_enter = [this, first](Endpoint& endpoint, const View& entered) {
          scheme_.agree(endpoint, entered, endpoint.id() == first);
        };
    nodes_.first().on_begin = [&](const TrainingPlan& made, const std::string& told) {
      begin(view, made, told);
    };
    try {
      nodes_.run(view, [&](std::span<const DataMessage> data) { return plan_.for_view(view, data, first); },
                 {.prefetcher = prefetcher,
                  .interrupted = session_.interrupted(),
                  .observer = &observer_,
                  .checkpointer = checkpoints_ ? &*checkpoints_ : nullptr,
                  .spare_learner = [this] { return plan_.make_spare_learner(); },
                  .speaker = first});
    } catch (const Diverged&) {
      throw;  // the model is of no use: it is not saved
    } catch (const ViewChanged&) {
      // Thrown by a wait of the engine itself.
    } catch (const PeerLost&) {
      // The same.
    } catch (...) {
      nodes_.leave_view();
      save();
      throw;
    }
    nodes_.leave_view();
  }

  // Called by the thread of the first node here, before its first step in the view.
  void begin(const View& view, const TrainingPlan& plan, const std::string& told) {
    const Roles* const roles = plan_.in_stages() ? &nodes_.stages()->roles() : nullptr;
    const std::uint64_t first_step = roles != nullptr ? roles->first_step : view.first_step;
    const int nodes = roles != nullptr ? static_cast<int>(roles->nodes.size()) : view.nodes();
    if (!begun_) describe(plan, nodes, first_step);  // what does not change with the view
    session_.set_view(nodes, plan.steps, plan.steps_per_epoch, plan_.epochs_at_start(view));
    if (checkpoints_) checkpoints_->count_epochs(session_.info());
    if (plan_.agrees_on_scheme()) scheme_.fix();
    if (!begun_) session_.start();
    begun_ = true;
    observer_.pass_to(session_.observer());
    session_.start_view(members_of(view, roles));
    session_.notice(
        fmt::format("view {}: {} node{}{}{} from step {}{}{}", view.number, nodes, nodes == 1 ? "" : "s",
                    nodes < view.nodes() ? fmt::format(" of {}", view.nodes()) : "", member_names(*grid_),
                    first_step, told.empty() ? "" : "; this member ", told));
  }

  // The member of each node that is measured, in the order of the measurements: with stages, of the
  // nodes that have one. Empty if the members have agreed on a further view meanwhile.
  std::vector<NodeMember> members_of(const View& view, const Roles* roles) const {
    const grid::Status status = grid_->status();
    std::vector<NodeMember> all, members;
    if (status.view != view.number) return members;
    for (const grid::MemberStatus& one : status.members)  // in the order of their seats
      if (one.seat >= 0)
        all.insert(all.end(), one.member.nodes, {grid::short_name(one.member.id), one.member.name});
    if (roles == nullptr) return all;
    for (const NodeId node : roles->nodes) members.push_back(all.at(static_cast<std::size_t>(node.value)));
    return members;
  }

  void describe(const TrainingPlan& plan, int nodes, std::uint64_t first_step) {
    session_.describe({.plan = plan,
                       .source = plan_.source(),
                       .parameters = nodes_.first_self().learner->parameters().size(),
                       .nodes = nodes,
                       .first_step = first_step});
  }

  void save() {
    if (checkpoints_) save_member(nodes_, *checkpoints_);
  }

  // The run has ended, or this member is interrupted.
  RunResult leave() {
    const auto& last = nodes_.first().last();
    RunResult result =
        result_of(last && !session_.interrupted() ? *last : interrupted_at(nodes_.first_self().step));
    Views& views = grid_->views();
    const bool ended = result.last.stopped != StopReason::interrupted;
    if (ended)
      tell_end(result.last);
    else
      save();
    const bool others = views.leave();
    result.others_continue = !ended && others;  // at the end of the run others may leave later
    session_.finish(result);
    if (ended) grid_->wait_for_newcomers(kNewcomerLimit);
    grid_->serve({});
    return result;
  }

  // From now on newcomers learn that the run has ended.
  void tell_end(const Evaluation& last) {
    Message word = message_of_end({last, session_.info().epoch(last.step)}, end_pool_);
    donor_->end(nodes_.first_self(), std::move(word), !plan_.in_stages());
    grid_->views().end(last.step);
  }

  // The run ended before this member was let in, or while it was away: keeps the final model and
  // the files that a member which took part keeps.
  RunResult take_end(std::uint64_t step) {
    const EndOfRun end = fetch_final_model(*grid_, step, plan_, nodes_, session_);
    const RunPlan alone = plan_.alone();
    const int nodes = static_cast<int>(end.last.nodes.size());
    describe(alone.training, nodes, end.last.step);
    session_.set_view(nodes, end.last.step, alone.training.steps_per_epoch, {end.last.step, end.epochs});
    if (checkpoints_) checkpoints_->count_epochs(session_.info());
    save();
    RunResult result = result_of(end.last);
    session_.record_result(result);
    return result;
  }

  RunResult result_of(Evaluation last) const {
    std::vector<std::vector<float>> parameters;
    for (const auto& part : nodes_.all()) {
      const std::span<const float> x = part->self().learner->parameters();
      parameters.emplace_back(x.begin(), x.end());
    }
    return session_.result(plan_.source(), std::move(last), std::move(parameters));
  }

  const GridRequest request_;
  MemberPlan plan_;
  MemberScheme scheme_{plan_};
  MemberNodes nodes_;
  TrainingSession session_;
  std::optional<MemberCheckpoints> checkpoints_;
  LateObserver observer_;
  std::optional<EpochCount> epochs_;  // before the first view; none: not known
  bool is_newcomer_ = false;
  bool begun_ = false;          // this member has trained in a view
  grid::Grid* grid_ = nullptr;  // while it runs
  const std::shared_ptr<StateDonor> donor_ = std::make_shared<StateDonor>();
  MessagePool end_pool_;
};

GridTraining::GridTraining(GridRequest request) : member_(std::make_unique<Member>(std::move(request))) {}
GridTraining::~GridTraining() = default;

DataTraits GridTraining::data() const { return member_->data(); }

RunResult GridTraining::run(grid::Grid& grid, As how, const RunFolder* folder) {
  return member_->run(grid, how, folder);
}

}  // namespace veche
