// Models in stages whose members die, leave and join at random points of a run, in many orders on
// the seeded engine: complete replicas go on, no step is lost, and each view ends with the bits of
// a run that never changes.
#include "tests/support/staged_views.h"

#include <gtest/gtest.h>

#include <cmath>

namespace veche {
namespace {

using testing::Assignments;
using testing::Snapshot;
using testing::StagedChurnRun;

constexpr std::uint64_t kSteps = testing::kStepsInStages;

// The same steps by the members of one view alone, from where it began.
std::vector<std::vector<float>> repeated(const StagedChurnRun& run, int stages,
                                         const StagedChurnRun::Past& view, std::uint64_t until) {
  TrainingPlan plan = run.plan(static_cast<int>(view.members.size()) / stages);
  plan.steps = until;
  // An ordinary run, unless the kept work of a step goes in, too.
  const bool kept = std::ranges::any_of(view.start, [](const Snapshot& one) { return one.work.there; });
  SeededCluster cluster(static_cast<int>(view.members.size()), testing::in_order_of(1));
  std::vector<testing::NodeAlone> nodes;
  for (const NodeId id : cluster.here()) {
    const Snapshot& start = view.start[static_cast<std::size_t>(id.value)];
    MemberState self = run.make(id.value % stages);
    std::ranges::copy(start.vectors[0], self.learner->parameters().begin());
    const auto moments = self.optimizer->state();
    for (std::size_t k = 0; k < moments.size(); ++k)
      std::ranges::copy(start.vectors[k + 1], moments[k].begin());
    self.step = start.step;
    self.work = start.work;
    nodes.emplace_back(cluster.endpoint(id), std::move(self), plan, kept);
  }
  Prefetcher prefetcher(0);
  static const std::atomic<bool> never = false;
  const NodeServices services{.prefetcher = prefetcher, .interrupted = never};
  std::vector<std::vector<float>> result(nodes.size());
  cluster.run([&](NodeId id) {
    const auto i = static_cast<std::size_t>(id.value);
    nodes[i].run(services);
    const std::span<const float> x = nodes[i].model().learner->parameters();
    result[i] = {x.begin(), x.end()};
  });
  return result;
}

// All are there from the beginning to the end: the bits of an ordinary run.
TEST(StagedViews, NobodyComesOrGoes) {
  for (const char* strategy : {"allreduce", "consensus"}) {
    StagedChurnRun run({std::string("strategy.name=") + strategy}, 2, 3);
    ASSERT_TRUE(run.run(4, false));
    ASSERT_EQ(run.past.size(), 1U);
    const auto as_if = repeated(run, 2, run.past.front(), kSteps);
    for (std::size_t i = 0; i < as_if.size(); ++i)
      EXPECT_EQ(StagedChurnRun::values(*run.members[i]), as_if[i]) << strategy << " " << i;
  }
}

class StagedViewsTest : public ::testing::TestWithParam<Assignments> {
 protected:
  static std::uint64_t compare_with_repetition(const StagedChurnRun& run, int stages, bool equal) {
    std::uint64_t compared = 0;
    for (std::size_t v = 0; v < run.past.size(); ++v) {
      const auto& view = run.past[v];
      const bool last = v + 1 == run.past.size();
      // Who dies while a view begins may have been the only one of its stage to have made a step.
      if (!last && run.past[v + 1].members.empty()) continue;
      const std::uint64_t until = last ? kSteps : run.past[v + 1].first_step;
      if (view.members.empty() || view.partial || until == view.first_step || (!equal && !view.all_alike) ||
          std::ranges::any_of(view.start, [](const Snapshot& one) { return one.vectors.empty(); }))
        continue;
      const auto as_if = repeated(run, stages, view, until);
      for (std::size_t i = 0; i < view.members.size(); ++i) {
        std::vector<float> now;
        if (last) {
          if (const auto* member = run.find(view.members[i]); member != nullptr)
            now = StagedChurnRun::values(*member);
        } else {
          const auto& then = run.past[v + 1];
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

  // Replicas that never talk are not equally far, and a whole one may be behind. It makes the step
  // for which all its stages have gradients. Without them it goes on where the others are, from the
  // model it has: how many steps it will then have made.
  static std::uint64_t made_alone(const StagedChurnRun::Past& view, std::size_t stages, std::size_t place,
                                  std::uint64_t next) {
    const auto replica = std::span(view.end).subspan(place / stages * stages, stages);
    const std::uint64_t most = std::ranges::max(replica, {}, &Snapshot::step).step;
    const bool completes =
        std::ranges::all_of(replica, [&](const Snapshot& one) { return one.step == most && one.work.there; });
    return std::min(next, completes ? most + 1 : most);
  }

  // A view that ended between stages, and lost nobody: who had not made the step completes it when
  // the next view begins, as it would have been made. Where each has a model of its own that holds
  // for those who never talk.
  static std::uint64_t compare_torn(const StagedChurnRun& run, int stages, bool alone) {
    std::uint64_t compared = 0;
    for (std::size_t v = 0; v + 1 < run.past.size(); ++v) {
      const auto &view = run.past[v], &then = run.past[v + 1];
      const auto goes_on = [&](int name) { return std::ranges::count(then.members, name) > 0; };
      if (!view.partial || view.members.empty() || !std::ranges::all_of(view.members, goes_on) ||
          std::ranges::any_of(view.start, [](const Snapshot& one) { return one.vectors.empty(); }))
        continue;
      std::map<std::uint64_t, std::vector<std::vector<float>>> after;  // so many steps
      for (std::size_t i = 0; i < view.members.size(); ++i) {
        const std::uint64_t until =
            alone ? made_alone(view, static_cast<std::size_t>(stages), i, then.first_step) : then.first_step;
        if (!after.contains(until)) after[until] = repeated(run, stages, view, until);
        const auto& as_if = after[until];
        for (std::size_t k = 0; k < then.members.size(); ++k) {
          if (then.members[k] != view.members[i] || then.start[k].vectors.empty() ||
              static_cast<int>(k) % stages != static_cast<int>(i) % stages)
            continue;
          for (std::size_t d = 0; d < as_if[i].size(); ++d)
            EXPECT_NEAR(then.start[k].vectors[0][d], as_if[i][d], 1e-5)
                << "view " << v + 1 << ", steps " << view.first_step << " to " << until << " of "
                << then.first_step << ", member " << view.members[i];
          ++compared;
        }
      }
    }
    return compared;
  }

  static void check_end(const StagedChurnRun& run, int stages, bool equal) {
    std::map<int, std::vector<float>> of_stage;
    for (const auto& member : run.members) {
      ASSERT_TRUE(member->part->ended());
      EXPECT_EQ(member->part->last()->stopped, StopReason::steps);
      if (member->part->staged()->place() < 0) continue;
      EXPECT_EQ(member->part->self().step, kSteps);
      const int stage = member->part->staged()->stage();
      const std::vector<float> mine = StagedChurnRun::values(*member);
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
  std::uint64_t deaths = 0, compared = 0, partial = 0, completed = 0, lost = 0, waited = 0;
  bool completes = false;
  const bool alone = GetParam().front() == "strategy.name=none";
  const std::uint64_t seeds = testing::seeds() / 4;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int stages = seed % 3 == 2 ? 3 : 2;
    StagedChurnRun run(GetParam(), stages, seed);
    bool ended = false;
    ASSERT_NO_THROW(ended = run.run(3 + seed % 5));
    deaths += run.deaths;
    partial += run.partial;
    waited += run.waited;
    const bool equal = run.plan(2).replicas() != Replicas::own;
    completes = equal || alone;
    if (completes) completed += compare_torn(run, stages, alone);
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
        EXPECT_NE(member->told.back().find("no member here has stage"), std::string::npos)
            << member->told.back();
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(deaths, seeds / 4);
  EXPECT_GT(compared, seeds);
  EXPECT_GT(waited, seeds / 2);
  EXPECT_GT(lost, 0U);
  EXPECT_LT(lost, seeds / 2);
  constexpr std::uint64_t kEnoughForRareCases = 40;  // sanitizers try fewer seeds
  if (seeds < kEnoughForRareCases) return;
  EXPECT_GT(partial, 0U);
  if (completes && GetParam().size() > 1) {  // few views are partial and lose nobody
    EXPECT_GT(completed, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, StagedViewsTest,
    ::testing::Values(Assignments{"strategy.name=allreduce"},
                      Assignments{"strategy.name=allreduce", "optimizer.momentum=0.9", "optimizer.clip=0.5",
                                  "data.samples=57", "optimizer.scale_lr=true"},
                      Assignments{"strategy.name=parameter-server", "optimizer.momentum=0.9",
                                  "optimizer.clip=0.5", "data.samples=57"},
                      Assignments{"strategy.name=parameter-server", "strategy.reduce=sum",
                                  "optimizer.name=adam", "data.samples=57"},
                      Assignments{"strategy.name=none", "optimizer.momentum=0.9", "optimizer.clip=0.5"},
                      Assignments{"strategy.name=consensus"},
                      Assignments{"strategy.name=consensus", "optimizer.momentum=0.9", "optimizer.clip=0.5"},
                      Assignments{"strategy.name=local-sgd", "strategy.period=3"},
                      Assignments{"strategy.name=gossip"}),
    [](const auto& info) { return testing::test_name_of(info.param); });

// Stage 0 has made a step that nobody of stage 1 has: these make it of the gradients they have
// kept.
TEST(StagedViews, AStageCompletesTheStepThatAnotherHasMade) {
  StagedChurnRun run({"strategy.name=allreduce"}, 2, 1);
  for (int i = 0; i < 4; ++i) run.add(true);
  for (int i = 0; i < 4; ++i) {
    auto& member = *run.members[static_cast<std::size_t>(i)];
    member.part->staged()->hold(member.part->self(), i % 2);
  }
  for (int i = 0; i < 4; ++i) {
    MemberState& self = run.members[static_cast<std::size_t>(i)]->part->self();
    self.step = i % 2 == 0 ? 2 : 1;
    self.work.there = self.work.has_samples = i % 2 == 1;
    self.work.gradient = {static_cast<float>(i), 2, 0.5F};
    self.work.samples = static_cast<std::uint64_t>(i);
    self.work.rate = 0.02;
    self.made_scale = i == 0 ? 0.5 : 0;
    self.learner->parameters()[0] = 1;
  }
  run.one_view(1, false);
  ASSERT_EQ(run.past.front().first_step, 2U);
  const Snapshot& one = run.past.front().start.at(1);
  EXPECT_EQ(one.step, 2U);
  // The mean over samples of both, at the rate and with the scale that stage 0 had.
  EXPECT_NEAR(one.vectors[0][0], 1 - 0.5 * 0.02 * (1.0 * 1 + 3.0 * 3) / (1 + 3), 1e-6);
  EXPECT_EQ(one.vectors, run.past.front().start.at(3).vectors);
}

// As above, but whoever made the step has come back from a folder, which does not tell how the
// gradient of all stages was clipped.
TEST(StagedViews, AStageLeavesOutAStepWhoseClippingNobodyKnows) {
  StagedChurnRun run({"strategy.name=allreduce", "optimizer.clip=0.5"}, 2, 1);
  for (int i = 0; i < 4; ++i) run.add(true);
  for (int i = 0; i < 4; ++i) {
    auto& member = *run.members[static_cast<std::size_t>(i)];
    member.part->staged()->hold(member.part->self(), i % 2);
    MemberState& self = member.part->self();
    self.step = i % 2 == 0 ? 2 : 1;
    self.work.there = self.work.has_samples = i % 2 == 1;
    self.work.gradient = {4, 2, 0.5F};
    self.work.samples = 1;
    self.work.rate = 0.02;
    self.learner->parameters()[0] = 1;
  }
  run.one_view(1, false);
  ASSERT_EQ(run.past.front().first_step, 2U);
  for (const std::size_t place : {1, 3}) {
    const Snapshot& one = run.past.front().start.at(place);
    EXPECT_EQ(one.step, 2U);
    EXPECT_EQ(one.vectors[0][0], 1);
  }
  EXPECT_NE(run.members[1]->began.find("stage 1 leaves out step 2"), std::string::npos)
      << run.members[1]->began;
}

// One replica was ahead of another that had its gradients, but not yet their common norm.
TEST(StagedViews, AReplicaThatIsBehindClipsByTheNormOfAllItsStages) {
  StagedChurnRun run({"strategy.name=none", "optimizer.clip=0.5"}, 2, 1);
  for (int i = 0; i < 4; ++i) run.add(i == 0);
  run.one_view(1, false);
  const std::vector<int> order = run.past.front().members;
  for (int i = 0; i < 4; ++i) {
    MemberState& self =
        run.members[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]->part->self();
    self.step = i < 2 ? 2 : 1;
    self.work.there = self.work.has_samples = i >= 2;
    self.work.gradient = {i == 2 ? 3.0F : 4.0F, 0, 0};
    self.work.rate = 0.02;
    self.work.scale = self.made_scale = i < 2 ? 0.9 : 0;
    self.learner->parameters()[0] = 1;
  }
  run.one_view(2, false);
  ASSERT_EQ(run.past.back().members, order);
  EXPECT_NEAR(run.past.back().start.at(2).vectors[0][0], 1 - 0.02 * 3 * 0.5 / 5, 1e-6);
  EXPECT_NEAR(run.past.back().start.at(3).vectors[0][0], 1 - 0.02 * 4 * 0.5 / 5, 1e-6);
}

}  // namespace
}  // namespace veche
