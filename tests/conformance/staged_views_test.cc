// Models in stages whose members die, leave and join at random points of a run, in many orders on the seeded
// engine: complete replicas go on, no step is lost, and each view ends with the bits of a run that never
// changes.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/chain_step.h"
#include "tests/support/views.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::Fate;
using testing::FatedEndpoint;
using testing::Snapshot;

constexpr std::uint64_t kSteps = 14;
constexpr std::uint64_t kVeryLong = 30000;  // calls of endpoints: more than the whole run makes
constexpr std::size_t kWeights = 3;         // of a stage

class StagesComingAndGoing {
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
    std::vector<std::uint64_t> evaluated, saved;
    std::map<std::uint64_t, std::map<int, std::vector<float>>> written;  // parameters by stage
  };
  // Of a view, those who trained, in the order of their roles.
  struct Past {
    std::vector<int> members;
    std::vector<Snapshot> start;
    std::uint64_t first_step = 0;
    bool torn = false;      // when it ended, a step was made by some stages and not by others ..
    bool all_alike = true;  // .. or by some nodes
  };

  StagesComingAndGoing(Assignments variant, int stages, std::uint64_t seed)
      : stages_(stages), variant_(std::move(variant)), seed_(seed), random_(seed, "stages that come and go") {
    opened_ = open_data_for_views(settings(1));
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
    config.set("run.steps=" + std::to_string(kSteps));
    config.set("run.eval_every=5");
    config.set("run.checkpoint_every=3");
    for (const std::string& assignment : variant_) config.set(assignment);
    config.set("cluster.nodes=" + std::to_string(replicas));
    return config.resolve();
  }
  TrainingPlan plan(int replicas) const {
    TrainingPlan plan = RunPlan(settings(replicas), opened_, NodesInView{}).training;
    plan.pipeline = testing::plan_of(stages_, 2, Schedule::one_f_one_b);
    plan.data.test = nullptr;
    return plan;
  }
  NodeSelf make(int stage, bool with_values = true) const {
    std::vector<float> w;
    for (std::size_t i = 0; i < kWeights; ++i)
      w.push_back(with_values
                      ? 0.9F + 0.07F * static_cast<float>(i + kWeights * static_cast<std::size_t>(stage))
                      : 1e6F);
    return {std::make_unique<testing::ChainStage>(std::move(w), stage == 0, stage + 1 == stages_), plan(1)};
  }
  void one_view(std::uint64_t number, bool faults);

  bool is_lost() const {
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
    NodeSelf self = make(0, founds || furthest() == 0);
    self.has_state = founds;
    member->part = std::make_unique<ViewPart>(std::move(self), DataWord{}, MessagePool{});
    // Nobody must depend on what a newcomer happens to have.
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
  std::uint64_t deaths = 0, torn = 0, waited = 0;

 private:
  void draw(Fate& fate) {
    fate.ends_at = kVeryLong;
    const std::uint64_t what = random_.below(4);
    const std::uint64_t soon = 1 + random_.below(random_.below(3) == 0 ? 10 : 200);
    if (past.size() > 8 || what == 3) return;
    if (what == 0) {
      fate.dies = NodeId{static_cast<int>(random_.below(members.size()))};
      fate.dies_at = soon;
    } else {
      fate.ends_at = soon * members.size();
    }
  }
  // Somebody else has as much of this one's stage.
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

Snapshot snapshot_of(NodeSelf& self) {
  const std::span<const float> x = self.learner->parameters();
  Snapshot all{self.step, {{x.begin(), x.end()}}, self.work};
  for (const std::span<float> part : self.optimizer->state())
    all.vectors.emplace_back(part.begin(), part.end());
  return all;
}

void StagesComingAndGoing::one_view(std::uint64_t number, bool faults) {
  Fate fate;
  if (faults)
    draw(fate);
  else
    fate.ends_at = kVeryLong;
  View view{.number = number, .first_step = 0, .standing = {}, .cluster = {}};
  view.cluster = std::make_shared<SeededCluster>(
      static_cast<int>(members.size()),
      SeededOptions{.seed = seed_ * 1000 + number, .stuck_after = Time(1e6), .longest = Time(1e6)});
  for (const auto& member : members) view.standing.push_back(standing_of(member->part->self()));
  for (const Standing& one : view.standing) view.first_step = std::max(view.first_step, one.done_step);
  past.emplace_back();
  Prefetcher prefetcher(0);
  static const std::atomic<bool> never = false;
  const PlanOfView planned = [&](std::span<const DataWord> all) -> std::unique_ptr<const TrainingPlan> {
    EXPECT_EQ(all.size() % static_cast<std::size_t>(stages_), 0U);
    return std::make_unique<const TrainingPlan>(plan(static_cast<int>(all.size()) / stages_));
  };
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (const NodeId id : view.cluster->here())
    endpoints.push_back(std::make_unique<FatedEndpoint>(view.cluster->endpoint(id), fate));
  try {
    view.cluster->run([&](NodeId id) {
      Member& member = *members[static_cast<std::size_t>(id.value)];
      const NodeServices services{.prefetcher = prefetcher,
                                  .interrupted = never,
                                  .observer = &member,
                                  .checkpointer = &member,
                                  .speaker = id};
      member.part->on_roles = [&](const std::string& sentence) { member.told.push_back(sentence); };
      member.part->on_begin = [&](const TrainingPlan&, const std::string&) {
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
      } catch (const testing::Died&) {
        member.died = true;
        fate.ends_at = fate.calls + 1 + random_.below(100);  // the others agree that it is gone
      }
    });
  } catch (const ViewChanged&) {
  } catch (const PeerLost&) {
  } catch (const testing::Died&) {
  }
  if (fate.dies && fate.calls_of[fate.dies->value] >= fate.dies_at)
    members[static_cast<std::size_t>(fate.dies->value)]->died = true;
  for (const auto& member : members) {
    member->part->leave();
    waited += member->part->staged()->place() < 0 ? 1 : 0;
  }
  deaths += static_cast<std::uint64_t>(std::erase_if(members, [](const auto& one) { return one->died; }));
  look_back();
}

// How those who trained in the view have come out of it.
void StagesComingAndGoing::look_back() {
  Past& view = past.back();
  std::map<int, std::uint64_t> furthest_of;
  std::set<std::uint64_t> steps;
  for (std::size_t i = 0; i < view.members.size(); ++i)
    if (const Member* member = find(view.members[i]); member != nullptr) {
      std::uint64_t& most = furthest_of[static_cast<int>(i) % stages_];
      most = std::max(most, member->part->self().step);
      steps.insert(member->part->self().step);
    }
  view.all_alike = steps.size() < 2;
  for (const auto& [stage, step] : furthest_of) view.torn = view.torn || step != *steps.rbegin();
  torn += view.torn ? 1 : 0;
}

// The same steps by the members of one view alone, from where it began.
std::vector<std::vector<float>> repeated(const StagesComingAndGoing& run, int stages,
                                         const StagesComingAndGoing::Past& view, std::uint64_t until) {
  TrainingPlan plan = run.plan(static_cast<int>(view.members.size()) / stages);
  plan.steps = until;
  // An ordinary run, but where what was kept of a step goes in, too.
  plan.in_view = std::ranges::any_of(view.start, [](const Snapshot& one) { return one.work.there; });
  SeededCluster cluster(static_cast<int>(view.members.size()), testing::in_order_of(1));
  std::vector<std::unique_ptr<Node>> nodes;
  for (const NodeId id : cluster.here()) {
    const Snapshot& start = view.start[static_cast<std::size_t>(id.value)];
    NodeSelf self = run.make(id.value % stages);
    std::ranges::copy(start.vectors[0], self.learner->parameters().begin());
    const auto moments = self.optimizer->state();
    for (std::size_t k = 0; k < moments.size(); ++k)
      std::ranges::copy(start.vectors[k + 1], moments[k].begin());
    self.step = start.step;
    self.work = start.work;
    nodes.push_back(std::make_unique<Node>(cluster.endpoint(id), std::move(self), plan, MessagePool{}));
  }
  Prefetcher prefetcher(0);
  static const std::atomic<bool> never = false;
  const NodeServices services{.prefetcher = prefetcher, .interrupted = never};
  std::vector<std::vector<float>> result(nodes.size());
  cluster.run([&](NodeId id) {
    const auto i = static_cast<std::size_t>(id.value);
    nodes[i]->run(services);
    const std::span<const float> x = nodes[i]->learner().parameters();
    result[i] = {x.begin(), x.end()};
  });
  return result;
}

// All are there from the beginning to the end: the bits of an ordinary run.
TEST(StagedViews, NobodyComesOrGoes) {
  for (const char* strategy : {"allreduce", "consensus"}) {
    StagesComingAndGoing run({std::string("strategy.name=") + strategy}, 2, 3);
    ASSERT_TRUE(run.run(4, false));
    ASSERT_EQ(run.past.size(), 1U);
    const auto as_if = repeated(run, 2, run.past.front(), kSteps);
    for (std::size_t i = 0; i < as_if.size(); ++i)
      EXPECT_EQ(StagesComingAndGoing::values(*run.members[i]), as_if[i]) << strategy << " " << i;
  }
}

class StagedViewsTest : public ::testing::TestWithParam<Assignments> {
 protected:
  static std::uint64_t compare_with_repetition(const StagesComingAndGoing& run, int stages, bool equal) {
    std::uint64_t compared = 0;
    for (std::size_t v = 0; v < run.past.size(); ++v) {
      const auto& view = run.past[v];
      std::size_t next = v + 1;  // in which somebody trained
      while (next < run.past.size() && run.past[next].members.empty()) ++next;
      const bool last = next == run.past.size();
      const std::uint64_t until = last ? kSteps : run.past[next].first_step;
      if (view.members.empty() || view.torn || until == view.first_step || (!equal && !view.all_alike) ||
          std::ranges::any_of(view.start, [](const Snapshot& one) { return one.vectors.empty(); }))
        continue;
      const auto as_if = repeated(run, stages, view, until);
      for (std::size_t i = 0; i < view.members.size(); ++i) {
        std::vector<float> now;
        if (last) {
          if (const auto* member = run.find(view.members[i]); member != nullptr)
            now = StagesComingAndGoing::values(*member);
        } else {
          const auto& then = run.past[next];
          for (std::size_t k = 0; k < then.members.size(); ++k)
            if (then.members[k] == view.members[i] && !then.start[k].vectors.empty() &&
                static_cast<int>(k) % stages == static_cast<int>(i) % stages)
              now = then.start[k].vectors[0];
        }
        if (now.empty()) continue;  // it is gone, or waits
        EXPECT_EQ(now, as_if[i]) << "view " << v + 1 << ", steps " << view.first_step << " to " << until
                                 << ", member " << view.members[i];
        ++compared;
      }
    }
    return compared;
  }

  static void check_end(const StagesComingAndGoing& run, int stages, bool equal) {
    std::map<int, std::vector<float>> of_stage;
    for (const auto& member : run.members) {
      ASSERT_TRUE(member->part->ended());
      EXPECT_EQ(member->part->last()->stopped, "steps");
      if (member->part->staged()->place() < 0) continue;
      EXPECT_EQ(member->part->self().step, kSteps);
      const int stage = member->part->staged()->stage();
      const std::vector<float> mine = StagesComingAndGoing::values(*member);
      for (const float x : mine) EXPECT_LT(std::abs(x), 10);
      if (equal) {
        EXPECT_EQ(of_stage.try_emplace(stage, mine).first->second, mine);
      }
      // Each has saved the whole model.
      ASSERT_FALSE(member->saved.empty());
      EXPECT_EQ(member->saved.back(), kSteps);
      const auto& whole = member->written.at(kSteps);
      ASSERT_EQ(whole.size(), static_cast<std::size_t>(stages));
      EXPECT_EQ(whole.at(stage), mine);
      for (const auto& [other, values] : whole)
        if (equal && of_stage.contains(other)) {
          EXPECT_EQ(values, of_stage.at(other));
        }
    }
  }
};

TEST_P(StagedViewsTest, CompleteReplicasGoOn) {
  std::uint64_t deaths = 0, compared = 0, torn = 0, lost = 0, waited = 0;
  const std::uint64_t seeds = testing::seeds() / 4;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int stages = seed % 3 == 2 ? 3 : 2;
    StagesComingAndGoing run(GetParam(), stages, seed);
    bool ended = false;
    ASSERT_NO_THROW(ended = run.run(3 + seed % 5));
    deaths += run.deaths;
    torn += run.torn;
    waited += run.waited;
    const bool equal = run.plan(2).replicas() != Replicas::own;
    if (ended) {
      check_end(run, stages, equal);
      compared += compare_with_repetition(run, stages, equal);
    } else if (!run.members.empty()) {
      // All wait, by name, and nobody makes a step of a model that is not whole.
      ++lost;
      const std::uint64_t before = run.furthest();
      run.one_view(1000, false);
      EXPECT_EQ(run.furthest(), before);
      for (const auto& member : run.members) {
        // But after the last one there is nothing to wait for.
        EXPECT_EQ(member->part->ended(), before == kSteps && member->part->self().step == kSteps);
        EXPECT_NE(member->told.back().find("nobody here has stage"), std::string::npos)
            << member->told.back();
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(deaths, seeds / 4);
  EXPECT_GT(compared, seeds);
  EXPECT_GT(torn, 0U);
  EXPECT_GT(waited, seeds / 2);
  EXPECT_GT(lost, 0U);
  EXPECT_LT(lost, seeds / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, StagedViewsTest,
    ::testing::Values(Assignments{"strategy.name=allreduce"},
                      Assignments{"strategy.name=allreduce", "optimizer.momentum=0.9", "optimizer.clip=0.5"},
                      Assignments{"strategy.name=parameter-server"}, Assignments{"strategy.name=consensus"},
                      Assignments{"strategy.name=consensus", "optimizer.momentum=0.9", "optimizer.clip=0.5"},
                      Assignments{"strategy.name=local-sgd", "strategy.period=3"},
                      Assignments{"strategy.name=gossip"}),
    [](const auto& info) { return testing::test_name_of(info.param); });

// Stage 0 has made a step that nobody of stage 1 has: these make it of the gradients they have kept.
TEST(StagedViews, AStageCompletesTheStepThatAnotherHasMade) {
  StagesComingAndGoing run({"strategy.name=allreduce"}, 2, 1);
  for (int i = 0; i < 4; ++i) run.add(true);
  for (int i = 0; i < 4; ++i) {
    auto& member = *run.members[static_cast<std::size_t>(i)];
    member.part->staged()->hold(member.part->self(), i % 2);
  }
  for (int i = 0; i < 4; ++i) {
    NodeSelf& self = run.members[static_cast<std::size_t>(i)]->part->self();
    self.step = i % 2 == 0 ? 2 : 1;
    self.work.there = self.work.has_samples = i % 2 == 1;
    self.work.gradient = {static_cast<float>(i), 2, 0.5F};
    self.learner->parameters()[0] = 1;
  }
  run.one_view(1, false);
  ASSERT_EQ(run.past.front().first_step, 2U);
  const Snapshot& one = run.past.front().start.at(1);
  EXPECT_EQ(one.step, 2U);
  EXPECT_NEAR(one.vectors[0][0], 1 - 0.01 * (1 + 3) / 2, 1e-6);  // the mean of both
  EXPECT_EQ(one.vectors, run.past.front().start.at(3).vectors);
}

}  // namespace
}  // namespace veche
