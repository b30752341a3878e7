#include "veche/train/optim/optimizer.h"

#include <gtest/gtest.h>

#include "veche/base/machine/with_instruction_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

struct Case {
  std::string name;
  OptimizerSettings settings;
  std::vector<float> expected;
};

// Five steps from (1,-2,3,0) with rate .1 on the gradient x/2 + 0.1; the results are those of
// torch.optim 1.13.
const std::vector<Case> kCases = {
    {"sgd", {.name = "sgd"}, {0.72853714F, -1.5928056F, 2.2760987F, -0.045243815F}},
    {"momentum",
     {.name = "sgd", .momentum = 0.9, .weight_decay = 0.01},
     {0.29066744F, -0.93018723F, 1.1045703F, -0.11628401F}},
    {"nesterov",
     {.name = "sgd", .momentum = 0.9, .nesterov = true, .weight_decay = 0.01},
     {0.16895904F, -0.74662673F, 0.77934933F, -0.13623624F}},
    {"adam", {.name = "adam"}, {0.50601655F, -1.5033966F, 2.501647F, -0.31709501F}},
    {"adam_decay",
     {.name = "adam", .weight_decay = 0.05},
     {0.50615561F, -1.5033514F, 2.5016582F, -0.28830203F}},
    {"adamw", {.name = "adamw", .weight_decay = 0.05}, {0.48662308F, -1.4592938F, 2.432651F, -0.31425563F}},
};

class Optimizers : public ::testing::TestWithParam<Case> {
 protected:
  // `gradient_scale` divides what the gradient is multiplied by, so the result must not change.
  static std::vector<float> run(const OptimizerSettings& settings, double gradient_scale,
                                std::size_t copies) {
    std::vector<float> x;
    for (std::size_t i = 0; i < copies; ++i) x.insert(x.end(), {1, -2, 3, 0});
    const auto optimizer = make_optimizer(settings, x.size());
    for (std::uint64_t step = 1; step <= 5; ++step) {
      std::vector<float> gradient;
      for (const float value : x)
        gradient.push_back(static_cast<float>((0.5 * static_cast<double>(value) + 0.1) / gradient_scale));
      optimizer->update(x, gradient, {.rate = 0.1, .gradient_scale = gradient_scale, .number = step});
    }
    return x;
  }
};

TEST_P(Optimizers, StepAsPyTorchDoes) {
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet limited(name);
    for (const double scale : {1.0, 0.25}) {
      const auto x = run(GetParam().settings, scale, 9);  // longer than one vector register, with a rest
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(x[i], GetParam().expected[i % 4], 2e-6) << i << " " << name;
    }
  }
}

// Nothing is left out or done twice where several threads share the work, to the bit.
TEST_P(Optimizers, DoTheSameWithThreads) {
  constexpr std::size_t kLong = 300'007;  // for several threads, with a rest
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    std::vector<float> x(kLong), gradient(kLong);
    for (std::size_t i = 0; i < kLong; ++i) x[i] = static_cast<float>(i % 1013) / 500 - 1;
    const auto optimizer = make_optimizer(GetParam().settings, kLong);
    for (std::uint64_t step = 1; step <= 2; ++step) {
      for (std::size_t i = 0; i < kLong; ++i) gradient[i] = x[i] * 0.5F + 0.1F;
      optimizer->update(x, gradient, {.rate = 0.1, .number = step, .threads = threads});
    }
    results.push_back(std::move(x));
  }
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// What layers add to the passes above.

OptimizerSettings settings_of(const std::string& name, bool decay_norms) {
  return {.name = name, .momentum = 0.9, .weight_decay = 0.05, .decay_norms = decay_norms, .trust = 0.02};
}

const std::vector<TensorLayout> kLayout = {
    {"fc.bias", {3}, {1}, 8}, {"fc.weight", {2, 4}, {4, 1}, 0}, {"more.weight", {1, 2}, {2, 1}, 13}};

TEST(Optimizer, KnowsItsLayers) {
  const std::vector<LayerSpan> whole = layers_of(kLayout, 0, 17);
  ASSERT_EQ(whole.size(), 5U) << "numbers that no tensor has are layers too";
  EXPECT_EQ(std::pair(whole[1].from, whole[1].to), std::pair(std::size_t{8}, std::size_t{11}));
  EXPECT_TRUE(whole[1].norm_or_bias);
  EXPECT_FALSE(whole[0].norm_or_bias);
  EXPECT_EQ(whole.back().to, 17U);
  const std::vector<LayerSpan> part = layers_of(kLayout, 4, 11);
  ASSERT_EQ(part.size(), 2U);
  EXPECT_EQ(part[0].to, 4U);
  EXPECT_TRUE(part[0].cut);
  EXPECT_FALSE(part[1].cut);
  EXPECT_THROW(make_optimizer(settings_of("lars", true), part), RequestError);
  EXPECT_NO_THROW(make_optimizer(settings_of("sgd", false), part));
}

// Spared layers go where a run without decay goes, the others where one with decay goes: to the
// bit.
TEST(Optimizer, SparesNormsAndBiases) {
  for (const char* name : {"sgd", "adam", "adamw"}) {
    const auto run = [&](bool decay_norms, double decay) {
      std::vector<float> x(17, 1.5F);
      OptimizerSettings settings = settings_of(name, decay_norms);
      settings.weight_decay = decay;
      const auto optimizer = make_optimizer(settings, layers_of(kLayout, 0, x.size()));
      for (std::uint64_t step = 1; step <= 3; ++step) {
        std::vector<float> gradient;
        for (std::size_t i = 0; i < x.size(); ++i)
          gradient.push_back(0.1F * static_cast<float>(i) - x[i] / 3);
        optimizer->update(x, gradient, {.rate = 0.1, .gradient_scale = 1, .number = step});
      }
      return x;
    };
    const auto spared = run(false, 0.05), all = run(true, 0.05), none = run(true, 0);
    for (std::size_t i = 0; i < spared.size(); ++i)
      EXPECT_EQ(spared[i], i >= 8 && i < 11 ? none[i] : all[i]) << name << " " << i;
    EXPECT_NE(spared, none) << name << ": the others decay";
  }
}

TEST(Optimizer, StateIsWhatACheckpointNeeds) {
  const auto plain = make_optimizer(OptimizerSettings{.name = "sgd"}, 10);
  EXPECT_EQ(plain->state().front().size(), 0U) << "no momentum, no memory";
  EXPECT_EQ(make_optimizer(OptimizerSettings{.name = "adam"}, 10)->state().size(), 2U);
}

}  // namespace
}  // namespace veche
