// Strategies with codecs on the ranks of a job; bits and bytes must equal those of the threads
// engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tests/conformance/over_job.h"
#include "tests/support/codecs.h"
#include "veche/compress/codec_spec.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

using testing::job;

struct CodedCase {
  std::string strategy, codec;
};

class CodedOverJob : public ::testing::TestWithParam<CodedCase> {
 protected:
  static RunResult run(Job* where) {
    Config config;
    for (const std::string& assignment :
         {std::string("model.name=quadratic"), std::string("optimizer.name=sgd"),
          std::string("optimizer.lr=0.1"), std::string("run.steps=12"),
          "cluster.nodes=" + std::to_string(2 * job->size()), "strategy.name=" + GetParam().strategy,
          "compress.codec=" + GetParam().codec})
      config.set(assignment);
    TrainingRequest request;
    request.settings = config.resolve();
    request.learner = testing::drawn_learner;
    request.keep = false;
    request.job = where;
    return run_training(request);
  }
  // For sums of floats, which an engine's own collective may add in another order.
  static bool in_any_order() {
    return parse_codec("codec", GetParam().codec).sum() == CodecSpec::Sum::phases &&
           (GetParam().strategy == "allreduce" || GetParam().strategy == "local-sgd");
  }
};

TEST_P(CodedOverJob, GivesTheBitsAndBytesOfThreads) {
  const RunResult result = run(job);
  if (job->rank() != 0) return;
  const RunResult threads = run(nullptr);
  ASSERT_EQ(result.last.nodes.size(), threads.last.nodes.size());
  for (std::size_t node = 0; node < threads.last.nodes.size(); ++node) {
    // An engine's own collective counts as the minimum that messages would need.
    if (!testing::sums_by_messages || !in_any_order()) {
      EXPECT_EQ(result.last.nodes[node].sent.bytes, threads.last.nodes[node].sent.bytes);
      EXPECT_EQ(result.last.nodes[node].coding.coded_bytes, threads.last.nodes[node].coding.coded_bytes);
    }
    EXPECT_GT(result.last.nodes[node].coding.coded_bytes, 0U);
    const std::vector<float>&ours = result.parameters[node], &theirs = threads.parameters[node];
    if (!in_any_order()) {
      EXPECT_EQ(ours, theirs);
      continue;
    }
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-5);
  }
}

std::vector<CodedCase> coded_cases() {
  std::vector<CodedCase> cases;
  for (const char* strategy : {"allreduce", "local-sgd", "parameter-server", "consensus", "gossip",
                               "push-sum", "moshpit", "hierarchical"})
    for (const char* codec : {"fp16", "sign", "topk:0.2", "powersgd:2"}) cases.push_back({strategy, codec});
  for (const char* codec : {"bf16", "int8", "qsgd:8", "threshold:0.05", "randomk:0.3", "dgc:0.3"})
    cases.push_back({"allreduce", codec});
  cases.push_back({"consensus", "powergossip:1"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Pairs, CodedOverJob, ::testing::ValuesIn(coded_cases()), [](const auto& info) {
  std::string name = info.param.strategy + "_" + info.param.codec;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace veche
