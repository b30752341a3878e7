// A node sends one message that is empty, too short or too long, in every strategy and every
// conversation of the training loop. The run ends with an error that names that node, whatever the
// message was. Nothing is read or written past its end: `make sanitize` runs this too.
#include "tests/support/wrong_size.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/seeded.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;
using testing::WrongSize;

constexpr int kNodes = 3;
constexpr NodeId kBad{1};
constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::size_t kAll = ~std::size_t{0};

struct Ended {
  std::string error;           // empty: the run has ended well
  std::uint64_t messages = 0;  // that the node has sent
};

Ended run_with(const WrongSize& plan, const Assignments& assignments) {
  Config config;
  for (const std::string& assignment :
       joined({"model.name=mlp",  // which has data; the learner is the test's own
               "data.name=synthetic", "data.shape=[1,2,2]", "data.samples=60", "data.batch=4",
               "data.test_samples=30", "data.workers=0", "run.eval_every=6", "run.steps=12",
               "optimizer.name=sgd", "cluster.nodes=" + std::to_string(kNodes)},
              assignments))
    config.set(assignment);
  TrainingRequest request = testing::seeded_request(config.resolve(), testing::in_order_of(1));
  request.learner = [](NodeId node) {
    return std::make_unique<testing::ToyLearner>(std::vector<float>(8), [node](auto x, auto g) {
      for (std::size_t i = 0; i < g.size(); ++i) g[i] = x[i] - static_cast<float>(node.value) - 1;
    });
  };
  std::atomic<std::uint64_t> sent = 0;
  request.network = [&](std::unique_ptr<Endpoint> inner) {
    return std::make_unique<testing::WrongSizeEndpoint>(std::move(inner), plan, sent);
  };
  Ended ended;
  try {
    run_training(request);
  } catch (const RunError& error) {
    ended.error = error.what();
  }
  ended.messages = sent;
  return ended;
}

class WrongSizes : public ::testing::TestWithParam<Assignments> {
 protected:
  bool in_step() const {
    const auto all = testing::seeded_in_step_variants();
    return std::ranges::find(all, GetParam()) != all.end();
  }
  Ended run(const WrongSize& plan) const {
    return run_with(plan, joined({in_step() ? "data.shuffle=global" : "data.shuffle=local"}, GetParam()));
  }
};

TEST_P(WrongSizes, EndTheRunWithTheNameOfTheSender) {
  const Ended whole = run({.node = kBad, .message = kNone});
  ASSERT_EQ(whole.error, "");
  if (GetParam() != Assignments{"strategy.name=single"}) {
    ASSERT_GT(whole.messages, 0U);
  }
  // The first messages of the run, the last ones, and some of those in between.
  std::set<std::uint64_t> chosen;
  for (std::uint64_t k = 0; k < whole.messages; ++k)
    if (k < 5 || k + 5 >= whole.messages || k % 7 == 0) chosen.insert(k);
  const std::string named = "node " + std::to_string(kBad.value) + " sent ";
  const WrongSize wrong[] = {{.node = kBad, .cut = kAll},
                             {.node = kBad, .cut = 1},
                             {.node = kBad, .cut = 4},
                             {.node = kBad, .added = 1},
                             {.node = kBad, .added = 64}};
  std::size_t noticed = 0;
  for (const std::uint64_t k : chosen)
    for (WrongSize plan : wrong) {
      plan.message = k;
      SCOPED_TRACE("message " + std::to_string(k) + " less " + std::to_string(plan.cut) + " plus " +
                   std::to_string(plan.added) + " bytes");
      const std::string error = run(plan).error;
      // A node of an asynchronous run may end before it reads the last messages.
      if (in_step() || !error.empty()) {
        EXPECT_TRUE(error.starts_with(named)) << error;
      }
      noticed += error.empty() ? 0 : 1;
    }
  // Most messages are read.
  EXPECT_GE(2 * noticed, chosen.size() * std::size(wrong));
}

// Node 2 of a tree of four passes on what the first node sends.
class WrongSizesOnTheWay : public ::testing::TestWithParam<Assignments> {};

TEST_P(WrongSizesOnTheWay, EndTheRunWithTheNameOfTheNodeThatPassedThemOn) {
  constexpr NodeId kRelay{2};
  const Assignments assignments = joined({"cluster.nodes=5"}, GetParam());
  const Ended whole = run_with({.node = kRelay, .message = kNone}, assignments);
  ASSERT_EQ(whole.error, "");
  for (std::uint64_t k = 0; k < whole.messages; ++k)
    EXPECT_TRUE(
        run_with({.node = kRelay, .message = k, .cut = 1}, assignments).error.starts_with("node 2 sent "))
        << k << " of " << whole.messages;
}

INSTANTIATE_TEST_SUITE_P(Codes, WrongSizesOnTheWay,
                         ::testing::Values(Assignments{"strategy.name=hierarchical",
                                                       "strategy.groups=[[0,1,2,3],[4]]",
                                                       "compress.codec=topk:0.4"},
                                           Assignments{"strategy.name=allreduce", "strategy.algorithm=tree",
                                                       "compress.codec=fp16"}),
                         [](const auto& info) { return testing::test_name_of(info.param); });

std::vector<Assignments> all_variants() {
  std::vector<Assignments> all = testing::seeded_in_step_variants();
  for (const Assignments& variant : testing::seeded_async_variants()) all.push_back(variant);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Strategies, WrongSizes, ::testing::ValuesIn(all_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
