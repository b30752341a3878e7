// One batch computed by several threads (model.threads).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "veche/errors.h"
#include "veche/model/torch_test_samples.h"

namespace veche {
namespace {

struct Trained {
  std::vector<float> gradient, model;  // gradient of the first step; parameters and buffers after all steps
  double loss = 0;
};

Trained trained(const std::string& name, Shape shape, int threads, std::size_t batch) {
  ModelSpec spec = spec_of(name, shape);
  spec.settings.threads = threads;
  spec.settings.dropout = 0.0;
  const auto learner = make_learner(spec);
  const RandomSamples samples(shape, batch);
  Trained result;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const double loss = learner->compute_gradient(samples.batch(step)).loss();
    if (step == 0) result = {copy(learner->gradients()), {}, loss};
    for (std::size_t i = 0; i < learner->parameters().size(); ++i)
      learner->parameters()[i] -= 0.01F * learner->gradients()[i];
  }
  result.model = copy(learner->parameters());
  result.model.insert(result.model.end(), learner->buffers().begin(), learner->buffers().end());
  return result;
}

// Relative distance.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    square += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / square);
}

TEST(TorchThreads, GradientsAreThoseOfOneThreadAndRepeatToTheBit) {
  for (const auto& [name, shape, batch] : {std::tuple{"cnn", kGrey, std::size_t{25}},
                                           {"cnn", kOdd, std::size_t{40}},
                                           {"resnet20", kColour, std::size_t{16}},
                                           {"mlp", kGrey, std::size_t{64}}}) {
    const Trained alone = trained(name, shape, 1, batch);
    const Trained absent = trained(name, shape, 0, batch);
    EXPECT_EQ(absent.model, alone.model) << name;
    for (const int threads : {2, shape == kGrey ? 3 : 2}) {
      const Trained together = trained(name, shape, threads, batch);
      EXPECT_NEAR(together.loss, alone.loss, 1e-5 * alone.loss) << name << ", " << threads << " threads";
      // A ReLU switched by rounding changes more than the last digit.
      EXPECT_LT(distance(together.gradient, alone.gradient), 1e-2) << name << ", " << threads << " threads";
      EXPECT_EQ(trained(name, shape, threads, batch).model, together.model) << name;
    }
  }
}

// Learners with different numbers of threads in one process.
TEST(TorchThreads, LearnersKeepTheirOwnNumber) {
  const Trained one = trained("resnet20", kColour, 1, 16), two = trained("resnet20", kColour, 2, 16);
  std::vector<Trained> results(3);
  {
    std::vector<std::jthread> nodes;
    for (std::size_t i = 0; i < results.size(); ++i)
      nodes.emplace_back([&, i] { results[i] = trained("resnet20", kColour, i == 1 ? 2 : 1, 16); });
  }
  EXPECT_EQ(results[0].model, one.model);
  EXPECT_EQ(results[1].model, two.model);
  EXPECT_EQ(results[2].model, one.model);
}

TEST(TorchThreads, TheQuadraticHasNone) {
  ModelSpec spec = spec_of("quadratic", {});
  spec.settings.threads = 2;
  EXPECT_THROW(make_learner(spec), RequestError);
}

}  // namespace
}  // namespace veche
