// Every strategy x every codec it supports, and the messages for the others.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/codecs.h"
#include "tests/support/data_sets.h"
#include "tests/support/network.h"
#include "tests/support/seeded.h"
#include "veche/errors.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;
using testing::Network;

TrainingRequest drawn_request(const Assignments& assignments) {
  Config config;
  config.set("model.name=quadratic");  // needs no data; the learner is below
  config.set("optimizer.name=sgd");
  for (const std::string& assignment : assignments) config.set(assignment);
  TrainingRequest request;
  request.settings = config.resolve();
  request.learner = testing::drawn_learner;
  request.keep = false;
  return request;
}

RunResult train_drawn(const Assignments& assignments, Network network = Network::quiet) {
  TrainingRequest request = drawn_request(assignments);
  if (network == Network::unlucky) request.network = testing::unlucky();
  return run_training(request);
}

// In virtual time: on threads of a busy machine a node makes a hundred steps while the others make
// none, and the shared model moves towards its target.
RunResult train_drawn_in_order(const Assignments& assignments, std::uint64_t seed) {
  TrainingRequest request = drawn_request(joined(assignments, {"data.workers=0"}));
  request.cluster = [seed](int nodes) {
    return std::make_unique<SeededCluster>(nodes, testing::in_order_of(seed));
  };
  return run_training(request);
}

// Distance of the mean of the models from the mean of their targets, as a share of the way.
double share_left(const RunResult& result) {
  const auto nodes = static_cast<int>(result.parameters.size());
  const std::vector<double> optimum = testing::mean_start(nodes);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < optimum.size(); ++i) {
    double mean = 0;
    for (const auto& node : result.parameters) mean += node[i] / static_cast<double>(nodes);
    error += std::pow(mean - optimum[i], 2);
    size += std::pow(0.5 - optimum[i], 2);
  }
  return std::sqrt(error / size);
}

struct PairCase {
  Assignments strategy;
  std::string codec;
};

// Forms with different exchanges.
std::vector<Assignments> in_step_forms() {
  return {{"strategy.name=allreduce"},
          {"strategy.name=allreduce", "strategy.algorithm=ring"},
          {"strategy.name=allreduce", "strategy.algorithm=tree"},
          {"strategy.name=allreduce", "strategy.algorithm=halving-doubling"},
          {"strategy.name=allreduce", "strategy.algorithm=all-to-all", "compress.start=3"},
          {"strategy.name=parameter-server"},
          {"strategy.name=parameter-server", "strategy.servers=2", "strategy.fanout=2"},
          {"strategy.name=local-sgd", "strategy.period=2"},
          {"strategy.name=local-sgd", "strategy.period=2", "strategy.outer=nesterov",
           "strategy.outer_momentum=0.3"},
          {"strategy.name=local-sgd", "strategy.period=2", "strategy.elastic=0.3"},
          {"strategy.name=consensus"},
          {"strategy.name=consensus", "strategy.correction=gradient-tracking"},
          {"strategy.name=consensus", "cluster.mix_every=[1,2,1,2,1]"},
          {"strategy.name=gossip"},
          {"strategy.name=push-sum"},
          {"strategy.name=moshpit"},
          {"strategy.name=hierarchical"},
          {"strategy.name=hierarchical", "strategy.between=gossip", "strategy.across=members",
           "cluster.nodes=6"}};
}

std::vector<PairCase> pair_cases() {
  std::vector<PairCase> cases;
  for (const Assignments& strategy : in_step_forms())
    for (const std::string& codec : testing::common_codecs()) cases.push_back({strategy, codec});
  cases.push_back({{"strategy.name=allreduce"}, "dgc:0.3"});
  cases.push_back({{"strategy.name=parameter-server"}, "dgc:0.3"});
  cases.push_back({{"strategy.name=consensus"}, "powergossip:1"});
  cases.push_back({{"strategy.name=gossip"}, "powergossip:1"});
  cases.push_back({{"strategy.name=allreduce", "compress.vote=true"}, "sign"});
  cases.push_back({{"strategy.name=allreduce", "compress.lossless=zstd"}, "none"});
  cases.push_back({{"strategy.name=allreduce", "compress.lossless=zstd"}, "fp16"});
  cases.push_back({{"strategy.name=consensus", "compress.lossless=zstd"}, "int8"});
  return cases;
}

std::string name_of(const PairCase& c) {
  std::string name;
  for (const std::string& word : c.strategy) name += word.substr(word.find('.') + 1) + "_";
  name += c.codec;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

class Compressed : public ::testing::TestWithParam<PairCase> {
 protected:
  static Assignments with(const Assignments& more) {
    return joined(joined(joined({"cluster.nodes=5", "run.steps=60", "optimizer.lr=0.1"}, GetParam().strategy),
                         {"compress.codec=" + GetParam().codec}),
                  more);
  }
};

TEST_P(Compressed, TheNetworkNeverChangesTheResult) {
  const RunResult quiet = train_drawn(with({}));
  const RunResult result = train_drawn(with({}), Network::unlucky);
  EXPECT_EQ(result.last.stopped, StopReason::steps);
  EXPECT_EQ(result.parameters, quiet.parameters);
  for (const auto& node : result.parameters)
    for (const float x : node) ASSERT_TRUE(std::isfinite(x));
  const Coding coding = total_coding(quiet.last);
  EXPECT_GT(coding.plain_bytes, 0U);
  EXPECT_LE(coding.coded_bytes, total_sent(quiet.last).bytes);
}

TEST_P(Compressed, WithoutARateNothingMoves) {
  for (const auto& node : train_drawn(with({"optimizer.lr=0", "run.steps=12"})).parameters)
    for (const float x : node) ASSERT_NEAR(x, 0.5, 1e-6);
}

// The mean of the models approaches the mean of their targets: nothing is lost for good.
TEST_P(Compressed, ComesNearTheOptimum) {
  // A vote converges to the medians of the targets, not to their means.
  const bool votes =
      std::ranges::find(GetParam().strategy, "compress.vote=true") != GetParam().strategy.end();
  EXPECT_LT(share_left(train_drawn(with({"run.steps=400"}))), votes ? 0.6 : 0.25);
}

INSTANTIATE_TEST_SUITE_P(Pairs, Compressed, ::testing::ValuesIn(pair_cases()),
                         [](const auto& info) { return name_of(info.param); });

// A codec loses nothing for good: in the same order of the nodes the models come as near as without.
TEST(CompressedAsync, EveryFormComesAsNearAsWithoutCodec) {
  const std::vector<Assignments> forms = {
      {"strategy.name=parameter-server", "strategy.update=async"},
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.servers=2"},
      {"strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=2"},
      {"strategy.name=parameter-server", "strategy.backup=1"},
      {"strategy.name=local-sgd", "strategy.update=async", "strategy.period=2"},
      {"strategy.name=gossip", "strategy.async=true"},
      {"strategy.name=consensus", "strategy.async=true"}};
  for (const Assignments& form : forms) {
    const auto trained = [&](const char* codec) {
      return train_drawn_in_order(joined({"cluster.nodes=4", "run.steps=500", "optimizer.lr=0.003",
                                          "cluster.work=equal", std::string("compress.codec=") + codec},
                                         form),
                                  1);
    };
    const double plain = share_left(trained("none"));
    EXPECT_LT(plain, 0.7) << form.front() << " " << form.back();
    for (const char* codec : {"fp16", "int8", "topk:0.2", "sign", "powersgd:2"}) {
      SCOPED_TRACE(form.front() + " " + form.back() + " " + codec);
      const RunResult result = trained(codec);
      EXPECT_LT(share_left(result), plain + 0.05);
      // Two servers have no whole matrix between them.
      const bool cut = form.back() == "strategy.servers=2" && std::string(codec) == "powersgd:2";
      EXPECT_GT(total_coding(result.last).ratio(), cut ? 0.9 : 1.2);
    }
  }
}

// Every registered strategy either supports codecs or says why not.
TEST(Pairs, EveryStrategyIsKnown) {
  for (const StrategyInfo& info : strategies())
    EXPECT_NE(info.coded.exchange, CodedExchange::undeclared) << info.name;
}

TEST(Pairs, SenselessOnesAreRefused) {
  struct Refused {
    Assignments request;
    std::string reason, nearest;
  };
  const std::vector<Refused> all = {
      {{"strategy.name=single", "compress.codec=fp16"},
       "it sends nothing to compress",
       "strategy.name = \"allreduce\""},
      {{"strategy.name=hogwild", "compress.codec=topk:0.1"},
       "it sends nothing to compress",
       "leave out [compress]"},
      {{"strategy.name=consensus", "compress.codec=dgc:0.1"}, "momentum of gradients", "topk:0.1"},
      {{"strategy.name=allreduce", "compress.codec=dgc:0.1", "optimizer.name=adam"}, "plain SGD", "sgd"},
      {{"strategy.name=allreduce", "compress.codec=powergossip:2"}, "two neighbours", "powersgd:2"},
      {{"strategy.name=gossip", "strategy.async=true", "compress.codec=powergossip:2"},
       "in step and edges both ways;",
       "powersgd:2"},
      {{"strategy.name=consensus", "topology.graph=one-peer-exponential:4", "compress.codec=powergossip:2"},
       "and no strategy.correction",
       "powersgd:2"},
      {{"strategy.name=consensus", "strategy.correction=d2", "compress.codec=fp16"},
       "d2",
       "gradient-tracking"},
      {{"strategy.name=consensus", "strategy.momentum=tracked", "compress.codec=fp16"}, "negative", "local"},
      {{"strategy.name=consensus", "compress.codec=topk:0.1", "compress.error_feedback=true"},
       "copies",
       "leave out compress.error_feedback"},
      {{"strategy.name=allreduce", "compress.codec=topk:0.1", "compress.gamma=0.5"},
       "compress.gamma",
       "consensus"},
      {{"strategy.name=consensus", "compress.codec=sign", "compress.gamma=1.5"}, "compress.gamma", "auto"},
      {{"strategy.name=allreduce", "compress.codec=topk:0.1", "compress.vote=true"}, "signs", "sign"},
      {{"strategy.name=local-sgd", "compress.codec=sign", "compress.vote=true"}, "all nodes", "allreduce"},
      {{"strategy.name=local-sgd", "strategy.period=\"end\"", "compress.codec=topk:0.1"},
       "one average",
       "fp16"},
      {{"strategy.name=local-sgd", "strategy.update=async", "strategy.elastic=0.1", "compress.codec=sign"},
       "elastic",
       "sync"},
      {{"strategy.name=parameter-server", "strategy.update=async", "strategy.fanout=2",
        "compress.codec=sign"},
       "on their way to a server",
       "fanout = 0"},
      {{"strategy.name=gossip", "strategy.async=true", "compress.codec=sign", "compress.start=2"},
       "asynchronous",
       "compress.start"},
      {{"compress.codec=topc:0.1"}, "topc", "topk"},
      {{"compress.codec=topk"}, "topk", "F"},
      {{"compress.lossless=zip"}, "compress.lossless", "zstd"}};
  for (const Refused& refused : all) {
    const std::string said = testing::refusal([&] {
      try {
        testing::train(joined({"model.name=quadratic", "model.a=[1,2,3,4]", "model.b=[1,-1,2,0]"},
                              joined({"optimizer.name=sgd"}, refused.request)));
      } catch (const RequestError&) {
        throw;
      } catch (const std::exception& other) {
        throw Error(std::string("no RequestError: ") + other.what());
      }
    });
    for (const std::string& word : {refused.reason, refused.nearest})
      EXPECT_NE(said.find(word), std::string::npos) << refused.request.back() << ": " << said;
    EXPECT_EQ(said.find("no RequestError"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace veche
