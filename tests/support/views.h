#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tests/support/seeded.h"
#include "veche/errors.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/train/node/node.h"
#include "veche/train/views/catch_up.h"
#include "veche/train/views/state_pieces.h"
#include "veche/train/views/view_part.h"

namespace veche::testing {

// f(x) = 1/2 sum_d a_d (x_d - b_d)^2 with a and b of a member. Tells of its gradient in two parts,
// the last first.
class MembersLearner : public Learner {
 public:
  static constexpr std::size_t kLength = 40;

  explicit MembersLearner(int member) : x_(kLength), g_(kLength) {
    RandomStream random(7, "member", static_cast<std::uint64_t>(member));
    for (std::size_t i = 0; i < kLength; ++i) {
      a_.push_back(static_cast<float>(0.5 + 1.5 * random.uniform()));
      b_.push_back(static_cast<float>(2 * random.uniform() - 1));
    }
  }
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& /*batch*/) override {
    constexpr std::size_t kMiddle = kLength / 3;
    pass(kMiddle, kLength);
    pass(0, kMiddle);
    return {0, 0, 1};
  }
  void on_gradient_ready(GradientListener listener) override { listener_ = std::move(listener); }
  Score evaluate(const Batch& /*batch*/) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  void pass(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) g_[i] = a_[i] * (x_[i] - b_[i]);
    if (listener_) listener_(from, to);
  }
  std::vector<float> x_, g_, a_, b_;
  GradientListener listener_;
};

struct Died {};

// What happens in a view, counted in calls of endpoints: a node dies at one of its own, or the view
// ends at a call of any node.
struct Faults {
  std::optional<NodeId> dies;
  std::uint64_t dies_at = 0;
  std::optional<std::uint64_t> ends_at;
  std::optional<std::uint64_t> ends_after_death;  // if no node stops by itself
  std::uint64_t calls = 0;
  std::map<int, std::uint64_t> calls_of;
  bool ended = false;
};

class ScriptedEndpoint : public Endpoint {
 public:
  ScriptedEndpoint(std::unique_ptr<Endpoint> inner, Faults& script)
      : Endpoint(*inner), inner_(std::move(inner)), script_(script) {}

  void send(NodeId to, Tag tag, Message message) override {
    call();
    inner_->send(to, tag, std::move(message));
  }
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    call();
    if (script_.ended) throw ViewChanged();
    return inner_->receive(from, tag, deadline);
  }
  void flush() override { inner_->flush(); }
  Time now() const override { return inner_->now(); }
  bool alive(NodeId peer) const override { return inner_->alive(peer); }
  void spawn(std::function<void()> helper) override { inner_->spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    call();
    return inner_->compute(what, work);
  }

 private:
  void call() {
    ++script_.calls;
    if (script_.ends_at && script_.calls >= *script_.ends_at) script_.ended = true;
    if (script_.dies != id() || ++script_.calls_of[id().value] < script_.dies_at) return;
    if (script_.ends_after_death && !script_.ends_at)
      script_.ends_at = script_.calls + *script_.ends_after_death;
    throw Died();
  }
  const std::unique_ptr<Endpoint> inner_;
  Faults& script_;
};

struct Snapshot {
  std::uint64_t step = 0;
  std::vector<std::vector<float>> vectors;  // parameters, the optimiser's
  KeptWork work;
  std::vector<std::vector<float>> common = {};  // of all, by their strategy
};

// A node of a run that never changes: an ordinary one, or one that begins with the kept work of a
// step.
class NodeAlone {
 public:
  NodeAlone(std::unique_ptr<Endpoint> endpoint, MemberState self, const TrainingPlan& plan, bool with_work) {
    if (with_work)
      member_ = std::make_unique<MemberNode>(std::move(endpoint), std::move(self), plan, MessagePool{});
    else
      node_ = std::make_unique<Node>(std::move(endpoint), std::move(static_cast<ModelState&>(self)), self,
                                     plan, MessagePool{});
  }
  void run(const NodeServices& services) { node_ ? node_->run(services) : member_->run(services); }
  ModelState& model() { return node_ ? node_->model() : member_->self(); }
  const Counters& counters() const { return node_ ? node_->counters() : member_->self(); }

 private:
  std::unique_ptr<Node> node_;
  std::unique_ptr<MemberNode> member_;
};

// Donors of this process, which answer at once.
class DonorsHere : public Donors {
 public:
  std::optional<Answer> next() override {
    std::optional<Answer> first;
    if (answers_.empty()) return first;
    first.emplace(answers_.front());
    answers_.pop_front();
    return first;
  }

 protected:
  void answered(Answer answer) { answers_.push_back(std::move(answer)); }

 private:
  std::deque<Answer> answers_;
};

// A run whose members come, go and die, on the seeded engine, one process for all.
class ChurnRun {
 public:
  struct Member : Observer, Checkpointer {
    explicit Member(int given) : name(given) {}
    void on_progress(const Progress& /*progress*/) override {}
    void on_evaluation(const Evaluation& evaluation) override { evaluated.push_back(evaluation.step); }
    void write(std::uint64_t number, NodeId /*node*/, const NodeState& /*state*/) override {
      written.insert(number);
    }
    void commit(std::uint64_t number) override {
      if (written.contains(number)) saved.push_back(number);
    }

    const int name;
    std::unique_ptr<ViewPart> part;
    std::shared_ptr<StateDonor> donor = std::make_shared<StateDonor>();
    bool died = false, founded = false, took = false;
    std::vector<std::uint64_t> evaluated, saved;
    std::set<std::uint64_t> written;
  };
  // One view, as it was.
  struct Past {
    std::vector<int> members;
    std::vector<Snapshot> start;
    std::uint64_t first_step = 0;
    bool all_alike = true;  // all nodes had made the same steps when it ended
  };

  ChurnRun(const Assignments& variant, std::uint64_t seed, int steps)
      : variant_(variant),
        seed_(seed),
        steps_(steps),
        async_(RunPlan(settings(2), NodeFolders{}, NodesInView{}).training.async()),
        random_(seed, "coming and going") {}

  void run() {
    const std::size_t first = 1 + random_.below(5);
    for (std::size_t i = 0; i < first; ++i) add(true);
    constexpr std::uint64_t kMostViews = 60;
    for (std::uint64_t number = 1; !members.empty() && number < kMostViews; ++number) {
      one_view(number);
      if (!members.empty() &&
          std::ranges::all_of(members, [](const auto& one) { return one->part->ended(); }))
        return;
      change_members();
    }
  }

  Settings settings(std::size_t nodes) const {
    Config config =
        Config::from_text("[model]\nname = \"quadratic\"\n[optimizer]\nname = \"sgd\"\nlr = 0.1\n");
    config.set("run.steps=" + std::to_string(steps_));
    config.set("run.eval_every=5");
    config.set("run.checkpoint_every=3");
    config.set("data.workers=0");
    for (const std::string& assignment : variant_) config.set(assignment);
    config.set("cluster.nodes=" + std::to_string(nodes));
    return config.resolve();
  }

  std::vector<std::unique_ptr<Member>> members;
  std::vector<Past> past;
  std::uint64_t views = 0, deaths = 0;
  std::uint64_t joins() const { return newcomers_ - (coming_ ? 1 : 0); }
  std::uint64_t caught_up = 0, steps_followed = 0;  // by newcomers before they were let in

 private:
  static Snapshot snapshot(MemberState& self) {
    Snapshot all{self.step, {}, self.work, self.common};
    const auto keep = [&](std::span<const float> part) {
      all.vectors.emplace_back(part.begin(), part.end());
    };
    keep(self.learner->parameters());
    for (const std::span<float> part : self.optimizer->state()) keep(part);
    return all;
  }

  std::unique_ptr<Member> make(bool founds) {
    auto member = std::make_unique<Member>(next_name_++);
    member->founded = founds;
    newcomers_ += founds ? 0 : 1;
    const RunPlan plan(settings(2), NodeFolders{}, NodesInView{});
    MemberState self(std::make_unique<MembersLearner>(member->name), plan.training);
    self.has_state = founds;
    self.donor = member->donor;
    // No node may depend on the initial values of a newcomer.
    if (!founds) std::ranges::fill(self.learner->parameters(), 1e6F);
    member->part = std::make_unique<ViewPart>(std::move(self), DataMessage{}, MessagePool{});
    return member;
  }
  void add(bool founds) { members.push_back(make(founds)); }

  // The live members, as a newcomer asks them between two views.
  class LivingDonors : public DonorsHere {
   public:
    explicit LivingDonors(const std::vector<std::unique_ptr<Member>>& members) : members_(members) {}
    std::size_t count() override { return members_.size(); }
    void ask(std::size_t donor, std::uint64_t id, const std::string& name, std::uint64_t offset,
             std::uint32_t length) override {
      answered({id, members_[donor]->donor->answer(name, offset, length)});
    }
    bool pause() override { return false; }  // nobody trains meanwhile

   private:
    const std::vector<std::unique_ptr<Member>>& members_;
  };

  // Admits the newcomer that asked for copies before the last view ended, with the steps made
  // since.
  void let_in_who_follows() {
    const TrainingPlan plan = RunPlan(settings(2), NodeFolders{}, NodesInView{}).training;
    if (coming_) {
      LivingDonors donors(members);
      MemberState& self = coming_->part->self();
      const CaughtUp caught = catch_up(self, donors, shared_by(plan.strategy, plan.strategy_options));
      self.is_new = caught.done;
      if (async_ && !self.has_state) return;  // it tries again
      caught_up += caught.done ? 1 : 0;
      steps_followed += caught.done ? caught.step - caught.copied : 0;
      members.push_back(std::move(coming_));
    } else if (random_.below(2) == 0) {
      coming_ = make(false);
      std::uint64_t step = 0;
      for (const auto& member : members) step = std::max(step, member->part->self().step);
      const std::string at = "copy/" + std::to_string(step + 1 + random_.below(2));
      for (const auto& member : members) member->donor->answer(at, 0, 0);
    }
  }

  // A newcomer with a copy of a member's current state.
  void let_in_with_copy() {
    auto member = make(false);
    MemberState &from = members[random_.below(members.size())]->part->self(), &self = member->part->self();
    if (!from.has_state) return;
    const StatePieces has(from), takes(self);
    for (std::size_t i = 0; i < has.count(); ++i) takes.put(i, has[i]);
    self.step = from.step;
    self.has_state = self.is_new = true;
    members.push_back(std::move(member));
  }

  void draw(Faults& script) {
    const std::uint64_t what = random_.below(4);
    const std::uint64_t soon = 1 + random_.below(random_.below(3) == 0 ? 8 : 150);
    if (past.size() > 8 || what == 3) return;
    const std::size_t victim = random_.below(members.size());
    std::size_t others = 0;  // that have the state
    for (std::size_t i = 0; i < members.size(); ++i)
      others += i != victim && members[i]->part->self().has_state ? 1 : 0;
    if (what == 0 && others > 0) {
      script.dies = NodeId{static_cast<int>(victim)};
      script.dies_at = soon;
      if (async_) script.ends_after_death = 1 + random_.below(100);
    } else {
      script.ends_at = soon * members.size();
    }
  }

  void one_view(std::uint64_t number) {
    ++views;
    const std::size_t nodes = members.size();
    Faults script;
    draw(script);
    const SeededOptions options = in_order_of(seed_ * 1000 + number);
    View view{.number = number, .first_step = 0, .status = {}, .cluster = {}};
    view.cluster = std::make_shared<SeededCluster>(static_cast<int>(nodes), options);
    for (const auto& member : members) view.status.push_back(member->part->status());
    for (const NodeStatus& one : view.status) view.first_step = std::max(view.first_step, one.done_step);
    past.push_back({.members = {}, .start = std::vector<Snapshot>(nodes), .first_step = view.first_step});
    for (const auto& member : members) past.back().members.push_back(member->name);

    Prefetcher prefetcher(0);
    static const std::atomic<bool> never = false;
    const PlanOfView plan = [&](std::span<const DataMessage> all) -> std::unique_ptr<const TrainingPlan> {
      return std::make_unique<const TrainingPlan>(
          RunPlan(settings(all.size()), NodeFolders{}, NodesInView{}).training);
    };
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    for (const NodeId id : view.cluster->here())
      endpoints.push_back(std::make_unique<ScriptedEndpoint>(view.cluster->endpoint(id), script));
    run_nodes(view, [&](NodeId id) {
      const auto i = static_cast<std::size_t>(id.value);
      Member& member = *members[i];
      const NodeServices services{.prefetcher = prefetcher,
                                  .interrupted = never,
                                  .observer = &member,
                                  .checkpointer = &member,
                                  .speaker = id};
      member.part->on_begin = [&, i](const TrainingPlan&, const std::string& told) {
        past.back().start[i] = snapshot(member.part->self());
        if (!told.empty()) member.took = true;
      };
      try {
        member.part->run(std::move(endpoints[i]), view, plan, services);
      } catch (const Died&) {
        member.died = true;
      }
    });
    // A helper may have died after all nodes that would notice.
    if (script.dies && script.calls_of[script.dies->value] >= script.dies_at)
      members[static_cast<std::size_t>(script.dies->value)]->died = true;
    for (const auto& member : members) member->part->leave();
    deaths += static_cast<std::uint64_t>(std::erase_if(members, [](const auto& one) { return one->died; }));
    for (const auto& member : members)
      if (member->part->self().step != members.front()->part->self().step) past.back().all_alike = false;
  }

  // What ends helpers does not end the run.
  static void run_nodes(const View& view, const std::function<void(NodeId)>& body) {
    try {
      view.cluster->run(body);
    } catch (const ViewChanged&) {
    } catch (const PeerLost&) {
    } catch (const Died&) {
    }
  }

  void change_members() {
    if (past.size() > 8) return;
    let_in_who_follows();
    // No member waits in a view for one without state: it catches up before.
    if (random_.below(3) == 0) async_ ? let_in_with_copy() : add(false);
    if (random_.below(5) == 0) async_ ? let_in_with_copy() : add(false);
    // A member leaves, but not the last with the state.
    if (random_.below(4) != 0 || members.size() < 2) return;
    const std::size_t leaver = random_.below(members.size());
    const auto with_state = [&](std::size_t i) { return members[i]->part->self().has_state; };
    for (std::size_t i = 0; i < members.size(); ++i)
      if (i != leaver && with_state(i) &&
          members[i]->part->self().step >= members[leaver]->part->self().step) {
        members.erase(members.begin() + static_cast<std::ptrdiff_t>(leaver));
        return;
      }
  }

  const Assignments variant_;
  const std::uint64_t seed_;
  const int steps_;
  const bool async_;
  RandomStream random_;
  int next_name_ = 0;
  std::unique_ptr<Member> coming_;  // may be null
  std::uint64_t newcomers_ = 0;
};

}  // namespace veche::testing
