// Evaluation folds norms into convolutions and splits batches. The reference is libtorch's plain
// operations on the whole batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>

#include "veche/model/torch_test_samples.h"

namespace veche {
namespace {

// Several chunks, the last one smaller.
constexpr std::size_t kSamples = 37;
constexpr Shape kTiny{3, 8, 8};  // for large networks

struct Case {
  std::string model;
  Shape input;
  std::string norm;  // empty: the model's own
};

ModelSpec spec_of(const Case& one, int threads) {
  ModelSpec spec = spec_of(one.model, one.input);
  if (!one.norm.empty()) spec.settings.norm = one.norm;
  spec.evaluation_threads = threads;
  return spec;
}

// Trained far enough from the start that statistics and shifts matter.
std::unique_ptr<Learner> trained(const ModelSpec& spec) {
  auto learner = make_learner(spec);
  const RandomSamples samples(spec.input, 12, 5);
  for (std::uint64_t step = 0; step < 3; ++step) {
    learner->compute_gradient(samples.batch(step));
    for (std::size_t i = 0; i < learner->parameters().size(); ++i)
      learner->parameters()[i] -= 0.02F * learner->gradients()[i];
  }
  RandomStream random(9, "statistics");
  for (float& number : learner->buffers()) number *= static_cast<float>(0.8 + 0.4 * random.uniform());
  return learner;
}

void copy_model(Learner& from, Learner& to) {
  std::ranges::copy(from.parameters(), to.parameters().begin());
  std::ranges::copy(from.buffers(), to.buffers().begin());
}

class Evaluation : public ::testing::TestWithParam<Case> {};

TEST_P(Evaluation, IsWhatPlainOperationsSayWhateverTheThreads) {
  const auto learner = trained(spec_of(GetParam(), 1));
  ModelSpec plain = spec_of(GetParam(), 1);
  plain.settings.device = ComputeDevice::copies;
  const auto reference = make_learner(plain);
  const auto threaded = make_learner(spec_of(GetParam(), 3));
  copy_model(*learner, *reference);
  copy_model(*learner, *threaded);

  const RandomSamples samples(GetParam().input, kSamples);
  const Score expected = reference->evaluate(samples.batch());
  const Score score = learner->evaluate(samples.batch());
  EXPECT_EQ(score.count, static_cast<std::int64_t>(kSamples));
  EXPECT_NEAR(score.loss() / expected.loss(), 1, 1e-4);
  EXPECT_EQ(score.correct, expected.correct);
  for (int again = 0; again < 3; ++again)
    EXPECT_EQ(threaded->evaluate(samples.batch()).loss_sum, score.loss_sum);  // to the bit

  // Nothing derived from the weights is cached between evaluations.
  for (float& number : learner->parameters()) number *= 0.9F;
  for (float& number : learner->buffers()) number *= 1.2F;
  copy_model(*learner, *reference);
  EXPECT_NEAR(learner->evaluate(samples.batch()).loss() / reference->evaluate(samples.batch()).loss(), 1,
              1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, Evaluation,
    ::testing::Values(Case{"cnn", kGrey, ""}, Case{"cnn", kOdd, ""}, Case{"cnn", kGrey, "none"},
                      Case{"resnet20", kColour, ""}, Case{"resnet20", kOdd, ""},
                      Case{"resnet20", kColour, "group:4"}, Case{"resnet18", kTiny, ""},
                      Case{"resnet50", kTiny, ""}, Case{"wrn-10-2", kColour, ""},
                      Case{"mobilenet_v3_small", kColour, ""}, Case{"shufflenet_v2_x1_0", kColour, ""},
                      Case{"squeezenet1_1", kColour, ""}, Case{"lenet5", kGrey, ""}, Case{"mlp", kGrey, ""},
                      Case{"vit_tiny", kTiny, ""}),
    [](const auto& info) {
      std::string name = info.param.model + "_" + std::to_string(info.param.input.height) + info.param.norm;
      std::ranges::replace_if(
          name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
      return name;
    });

}  // namespace
}  // namespace veche
