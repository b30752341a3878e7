#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/chain_step.h"
#include "tests/support/views.h"

namespace veche::testing {

inline constexpr std::uint64_t kStepsInStages = 14;
inline constexpr std::uint64_t kVeryManyCalls = 30000;  // of endpoints: more than the whole run makes
inline constexpr std::size_t kWeightsOfAStage = 3;

// A run of a model in stages whose members come, go and die, on the seeded engine, one process for
// all.
class StagedChurnRun {
 public:
  struct Member : Observer, Checkpointer {
    void on_progress(const Progress& /*progress*/) override {}
    void on_evaluation(const Evaluation& evaluation) override { evaluated.push_back(evaluation.step); }
    void write(std::uint64_t number, NodeId stage, const NodeState& state) override {
      const std::span<const float> x = state.vectors[0];
      written[number][stage.value] = {x.begin(), x.end()};
    }
    void commit(std::uint64_t number) override { saved.push_back(number); }

    int name = 0;
    std::unique_ptr<ViewPart> part;
    bool died = false;
    std::vector<std::string> told;
    std::string began;  // what was told when the last view began
    std::vector<std::uint64_t> evaluated, saved;
    std::map<std::uint64_t, std::map<int, std::vector<float>>> written;  // parameters by stage
  };
  // Of a view: the members that trained, in the order of their roles.
  struct Past {
    std::vector<int> members;
    std::vector<Snapshot> start, end;  // a member that died has no end
    std::uint64_t first_step = 0;
    bool partial = false;   // when it ended, a step was made by some stages and not by others ..
    bool all_alike = true;  // .. or by some nodes
  };

  StagedChurnRun(Assignments variant, int stages, std::uint64_t seed)
      : stages_(stages), variant_(std::move(variant)), seed_(seed), random_(seed, "stages that come and go") {
    opened_ = open_data_for_views(settings(1), nullptr);
  }

  // False: a stage was lost for good, and all waited for it.
  bool run(std::size_t first, bool faults = true) {
    for (std::size_t i = 0; i < first; ++i) add(i == 0);
    constexpr std::uint64_t kMostViews = 40;
    for (std::uint64_t number = 1; number < kMostViews; ++number) {
      one_view(number, faults);
      if (std::ranges::all_of(members, [](const auto& one) { return one->part->ended(); })) return true;
      if (faults) change_members();
      if (members.empty() || is_lost()) return false;
    }
    ADD_FAILURE() << "the run does not end";
    return false;
  }

  Settings settings(int replicas) const {
    Config config = Config::from_text(
        "[model]\nname = \"mlp\"\n[data]\nname = \"synthetic\"\nsamples = 60\ntest_samples = 10\nshape = "
        "[1,1,1]\n"
        "batch = 5\nworkers = 0\n[optimizer]\nname = \"sgd\"\nlr = 0.01\n");
    config.set("run.steps=" + std::to_string(kStepsInStages));
    config.set("run.eval_every=5");
    config.set("run.checkpoint_every=3");
    for (const std::string& assignment : variant_) config.set(assignment);
    config.set("cluster.nodes=" + std::to_string(replicas));
    return config.resolve();
  }
  TrainingPlan plan(int replicas) const {
    TrainingPlan plan = RunPlan(settings(replicas), opened_, NodesInView{}).training;
    plan.pipeline = plan_of(stages_, 2, Schedule::one_f_one_b);
    plan.pipeline->blocks.resize(static_cast<std::size_t>(stages_));
    for (BlockDescription& block : plan.pipeline->blocks) block.parameters = kWeightsOfAStage;
    plan.data.test = nullptr;
    return plan;
  }
  MemberState make(int stage, bool with_values = true) const {
    std::vector<float> w;
    for (std::size_t i = 0; i < kWeightsOfAStage; ++i)
      w.push_back(with_values ? 0.9F + 0.07F * static_cast<float>(i + kWeightsOfAStage *
                                                                          static_cast<std::size_t>(stage))
                              : 1e6F);
    return {std::make_unique<ChainStage>(std::move(w), stage == 0, stage + 1 == stages_), plan(1)};
  }
  void one_view(std::uint64_t number, bool faults);

  bool is_lost() const {
    if (std::ranges::none_of(members, [](const auto& one) { return one->part->self().has_state; }))
      return true;
    if (furthest() == 0) return false;
    for (int stage = 0; stage < stages_; ++stage)
      if (std::ranges::none_of(members, [&](const auto& one) {
            return one->part->self().has_state && one->part->staged()->stage() == stage;
          }))
        return true;
    return false;
  }
  std::uint64_t furthest() const {
    std::uint64_t step = 0;
    for (const auto& one : members) step = std::max(step, one->part->self().step);
    return step;
  }
  Member& add(bool founds) {
    auto member = std::make_unique<Member>();
    member->name = next_name_++;
    MemberState self = make(0, founds || furthest() == 0);
    self.has_state = founds;
    member->part = std::make_unique<ViewPart>(std::move(self), DataMessage{}, MessagePool{});
    // No node may depend on the initial values of a newcomer.
    member->part->set_stages(
        std::make_unique<StagedPart>(stages_, [this](int stage) { return make(stage, furthest() == 0); }));
    member->part->staged()->call(100 + static_cast<std::uint64_t>(member->name),
                                 "m" + std::to_string(member->name));
    members.push_back(std::move(member));
    return *members.back();
  }
  const Member* find(int name) const {
    for (const auto& one : members)
      if (one->name == name) return one.get();
    return nullptr;
  }
  static std::vector<float> values(const Member& member) {
    const auto x = member.part->self().learner->parameters();
    return {x.begin(), x.end()};
  }

  std::vector<std::unique_ptr<Member>> members;
  std::vector<Past> past;
  std::uint64_t deaths = 0, partial = 0, waited = 0;

 private:
  void draw(Faults& script) {
    script.ends_at = kVeryManyCalls;
    const std::uint64_t what = random_.below(4);
    const std::uint64_t soon = 1 + random_.below(random_.below(3) == 0 ? 10 : 200);
    if (past.size() > 8 || what == 3) return;
    if (what == 0) {
      script.dies = NodeId{static_cast<int>(random_.below(members.size()))};
      script.dies_at = soon;
    } else {
      script.ends_at = soon * members.size();
    }
  }
  // Another member has made as many steps of the same stage.
  bool can_go(std::size_t leaver) const {
    for (std::size_t i = 0; i < members.size(); ++i)
      if (i != leaver && members[i]->part->self().has_state &&
          members[i]->part->staged()->stage() == members[leaver]->part->staged()->stage() &&
          members[i]->part->self().step >= members[leaver]->part->self().step)
        return true;
    return !members[leaver]->part->self().has_state;
  }
  void change_members() {
    const auto enough = static_cast<std::size_t>(stages_);
    if (members.size() < enough || (past.size() < 9 && random_.below(3) == 0)) add(false);
    if (members.size() < enough || (past.size() < 9 && random_.below(4) == 0)) add(false);
    if (const std::size_t leaver = random_.below(members.size());
        past.size() < 9 && members.size() > enough && random_.below(4) == 0 && can_go(leaver))
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(leaver));
  }
  void look_back();

  const int stages_;
  const Assignments variant_;
  const std::uint64_t seed_;
  RandomStream random_;
  NodeFolders opened_;
  int next_name_ = 0;
};

inline Snapshot snapshot_of(MemberState& self) {
  const std::span<const float> x = self.learner->parameters();
  Snapshot all{self.step, {{x.begin(), x.end()}}, self.work};
  for (const std::span<float> part : self.optimizer->state())
    all.vectors.emplace_back(part.begin(), part.end());
  return all;
}

inline void StagedChurnRun::one_view(std::uint64_t number, bool faults) {
  Faults script;
  if (faults)
    draw(script);
  else
    script.ends_at = kVeryManyCalls;
  View view{.number = number, .first_step = 0, .status = {}, .cluster = {}};
  view.cluster = std::make_shared<SeededCluster>(
      static_cast<int>(members.size()),
      SeededOptions{.seed = seed_ * 1000 + number, .stuck_after = Time(1e6), .longest = Time(1e6)});
  for (const auto& member : members) view.status.push_back(status_of(member->part->self()));
  for (const NodeStatus& one : view.status) view.first_step = std::max(view.first_step, one.done_step);
  past.emplace_back();
  Prefetcher prefetcher(0);
  static const std::atomic<bool> never = false;
  const PlanOfView planned = [&](std::span<const DataMessage> all) -> std::unique_ptr<const TrainingPlan> {
    EXPECT_EQ(all.size() % static_cast<std::size_t>(stages_), 0U);
    return std::make_unique<const TrainingPlan>(plan(static_cast<int>(all.size()) / stages_));
  };
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId id : view.cluster->here())
    endpoints.push_back(std::make_unique<ScriptedEndpoint>(view.cluster->endpoint(id), script));
  try {
    view.cluster->run([&](NodeId id) {
      Member& member = *members[static_cast<std::size_t>(id.value)];
      const NodeServices services{.prefetcher = prefetcher,
                                  .interrupted = never,
                                  .observer = &member,
                                  .checkpointer = &member,
                                  .speaker = id};
      member.part->on_roles = [&](const std::string& sentence) { member.told.push_back(sentence); };
      member.part->on_begin = [&](const TrainingPlan&, const std::string& said) {
        member.began = said;
        const Roles& roles = member.part->staged()->roles();
        Past& now = past.back();
        now.first_step = roles.first_step;
        now.start.resize(roles.nodes.size());
        now.members.resize(roles.nodes.size());
        for (std::size_t i = 0; i < roles.nodes.size(); ++i)
          now.members[i] = members[static_cast<std::size_t>(roles.nodes[i].value)]->name;
        now.start[static_cast<std::size_t>(member.part->staged()->place())] =
            snapshot_of(member.part->self());
      };
      try {
        member.part->run(std::move(endpoints[static_cast<std::size_t>(id.value)]), view, planned, services);
      } catch (const Died&) {
        member.died = true;
        script.ends_at = script.calls + 1 + random_.below(100);  // the others agree that it is gone
      }
    });
  } catch (const ViewChanged&) {
  } catch (const PeerLost&) {
  } catch (const Died&) {
  }
  if (script.dies && script.calls_of[script.dies->value] >= script.dies_at)
    members[static_cast<std::size_t>(script.dies->value)]->died = true;
  for (const auto& member : members) {
    member->part->leave();
    waited += member->part->staged()->place() < 0 ? 1 : 0;
  }
  deaths += static_cast<std::uint64_t>(std::erase_if(members, [](const auto& one) { return one->died; }));
  look_back();
}

// How the members that trained left the view.
inline void StagedChurnRun::look_back() {
  Past& view = past.back();
  view.end.resize(view.members.size());
  for (std::size_t i = 0; i < view.members.size(); ++i)
    if (const Member* member = find(view.members[i]); member != nullptr)
      view.end[i] = snapshot_of(member->part->self());
  std::map<int, std::uint64_t> furthest_of;
  std::set<std::uint64_t> steps;
  for (std::size_t i = 0; i < view.members.size(); ++i)
    if (const Member* member = find(view.members[i]); member != nullptr) {
      std::uint64_t& most = furthest_of[static_cast<int>(i) % stages_];
      most = std::max(most, member->part->self().step);
      steps.insert(member->part->self().step);
    }
  // A node behind another stage of its replica can make that step; if models are equal, every node
  // can.
  const bool equal = plan(2).replicas() != Replicas::own;
  for (std::size_t i = 0; i < view.members.size(); ++i)
    for (std::size_t k = 0; k < view.members.size(); ++k) {
      const Member *ahead = find(view.members[i]), *behind = find(view.members[k]);
      const auto stages = static_cast<std::size_t>(stages_);
      if (ahead == nullptr || behind == nullptr || view.start[k].vectors.empty() ||
          ahead->part->self().step <= behind->part->self().step || (!equal && i / stages != k / stages))
        continue;
      EXPECT_EQ(ahead->part->self().step, behind->part->self().step + 1);
      EXPECT_TRUE(behind->part->self().work.there) << "member " << view.members[k];
    }
  view.all_alike = steps.size() < 2;
  for (const auto& [stage, step] : furthest_of) view.partial = view.partial || step != *steps.rbegin();
  partial += view.partial ? 1 : 0;
}

}  // namespace veche::testing
