// The networks of the torch module, used through the zoo.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "veche/errors.h"
#include "veche/model/predictor.h"
#include "veche/model/torch_test_samples.h"

namespace veche {
namespace {

void descend(Learner& learner, float rate = 0.05F) {
  for (std::size_t i = 0; i < learner.parameters().size(); ++i)
    learner.parameters()[i] -= rate * learner.gradients()[i];
}

std::vector<float> trained(const ModelSpec& spec, const RandomSamples& samples, int steps) {
  const auto learner = make_learner(spec);
  for (int step = 0; step < steps; ++step) {
    learner->compute_gradient(samples.batch(static_cast<std::uint64_t>(step)));
    descend(*learner);
  }
  std::vector<float> result = copy(learner->parameters());
  result.insert(result.end(), learner->buffers().begin(), learner->buffers().end());
  return result;
}

TEST(TorchLearner, LayoutCoversTheVectorOnce) {
  for (const auto& [name, shape] : {std::pair{"cnn", kGrey}, {"resnet20", kColour}, {"mlp", kGrey}}) {
    const auto learner = make_learner(spec_of(name, shape));
    std::vector<int> seen(learner->parameters().size());
    for (const TensorLayout& item : learner->parameter_layout()) {
      std::vector<std::size_t> positions{item.offset};
      for (std::size_t d = 0; d < item.shape.size(); ++d) {
        std::vector<std::size_t> longer;
        for (const std::size_t position : positions)
          for (std::int64_t i = 0; i < item.shape[d]; ++i)
            longer.push_back(position + static_cast<std::size_t>(i * item.strides[d]));
        positions = std::move(longer);
      }
      for (const std::size_t position : positions) ++seen.at(position);
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; })) << name;
  }
  EXPECT_EQ(make_learner(spec_of("resnet20", kColour))->parameter_layout().at(3).name,
            "layer1.0.conv1.weight");
}

// Sharing plans, running concurrently and releasing memory change no bit.
TEST(TorchLearner, ManyThatShareAndRestLearnWhatOneDoesAlone) {
  const ModelSpec spec = spec_of("resnet20", kColour);
  const RandomSamples samples(kColour, 3);
  const std::vector<float> alone = trained(spec, samples, 3);
  std::vector<std::unique_ptr<Learner>> learners;
  {
    Learners together;
    for (int i = 0; i < 4; ++i)
      learners.push_back(together.make(spec, learners.empty() ? nullptr : learners.front().get()));
  }
  EXPECT_EQ(copy(learners.back()->parameters()), copy(make_learner(spec)->parameters()));
  EXPECT_EQ(copy(learners.back()->buffers()), copy(make_learner(spec)->buffers()));
  {
    std::vector<std::jthread> threads;
    for (const auto& learner : learners)
      threads.emplace_back([&samples, &learner = *learner] {
        for (std::uint64_t step = 0; step < 3; ++step) {
          learner.rest();
          learner.compute_gradient(samples.batch(step));
          descend(learner);
          learner.rest();
        }
      });
  }
  for (const auto& learner : learners) {
    std::vector<float> result = copy(learner->parameters());
    result.insert(result.end(), learner->buffers().begin(), learner->buffers().end());
    EXPECT_EQ(result, alone);
  }
}

TEST(TorchLearner, SpansAreAlignedAndStayInPlace) {
  const auto learner = make_learner(spec_of("resnet20", kColour));
  const RandomSamples samples(kColour, 4);
  float* const parameters = learner->parameters().data();
  float* const gradients = learner->gradients().data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameters) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(gradients) % 64, 0U);
  double first = 0;
  double last = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    last = learner->compute_gradient(samples.batch(step)).loss();
    if (step == 0) first = last;
    descend(*learner);
  }
  EXPECT_EQ(learner->parameters().data(), parameters);
  EXPECT_EQ(learner->gradients().data(), gradients);
  EXPECT_LT(last, first / 2);  // writing to the span trains the network
}

// Central differences along the gradient, the direction least affected by rounding.
TEST(TorchLearner, GradientIsTheSlopeOfTheLoss) {
  for (const auto& [name, shape] :
       {std::pair{"cnn", kGrey}, {"cnn", kOdd}, {"resnet20", kColour}, {"resnet20", kOdd}, {"mlp", kGrey}}) {
    ModelSpec spec = spec_of(name, shape);
    spec.settings.dropout = 0.0;
    const auto learner = make_learner(spec);
    const RandomSamples samples(shape, 6);
    learner->compute_gradient(samples.batch());
    const std::vector<float> start = copy(learner->parameters());
    const std::vector<float> slope = copy(learner->gradients());
    double norm = 0;
    for (const float g : slope) norm += static_cast<double>(g) * g;
    const auto loss_at = [&](double distance) {
      for (std::size_t i = 0; i < start.size(); ++i)
        learner->parameters()[i] = static_cast<float>(start[i] + distance * slope[i] / std::sqrt(norm));
      return learner->compute_gradient(samples.batch()).loss();
    };
    const double h = 2e-3;
    EXPECT_NEAR((loss_at(h) - loss_at(-h)) / (2 * h) / std::sqrt(norm), 1, 0.02) << name;
  }
}

TEST(TorchLearner, TellsOfEveryPartOfTheGradientOnceAndOnlyWhenItIsFinal) {
  for (const auto& [name, shape] : {std::pair{"mlp", kGrey}, {"cnn", kGrey}, {"resnet20", kColour}}) {
    const RandomSamples samples(shape, 4);
    const auto learner = make_learner(spec_of(name, shape));
    std::vector<float> told(learner->gradients().size(), NAN);
    int parts = 0;
    learner->on_gradient_ready([&](std::size_t from, std::size_t to) {
      ++parts;
      for (std::size_t i = from; i < to; ++i) {
        EXPECT_TRUE(std::isnan(told[i])) << name << ": told twice of " << i;
        told[i] = learner->gradients()[i];
      }
    });
    learner->compute_gradient(samples.batch());
    EXPECT_EQ(told, copy(learner->gradients())) << name;
    EXPECT_GE(parts, 4) << name;
    learner->on_gradient_ready({});
    learner->compute_gradient(samples.batch());
  }
}

TEST(TorchLearner, EqualSeedsGiveEqualBits) {
  for (const auto& [name, shape] : {std::pair{"cnn", kGrey}, {"resnet20", kColour}, {"mlp", kGrey}}) {
    const RandomSamples samples(shape, 5);
    EXPECT_EQ(trained(spec_of(name, shape), samples, 3), trained(spec_of(name, shape), samples, 3)) << name;
    ModelSpec other = spec_of(name, shape);
    other.seed = 4;
    EXPECT_NE(copy(make_learner(other)->parameters()),
              copy(make_learner(spec_of(name, shape))->parameters()));
    EXPECT_EQ(copy(make_learner(spec_of(name, shape, 2))->parameters()),
              copy(make_learner(spec_of(name, shape))->parameters()));
  }
}

TEST(TorchLearner, DropoutIsAFunctionOfNodeAndStep) {
  const RandomSamples samples(kGrey, 5);
  const auto gradient = [&](Learner& learner, std::uint64_t step) {
    learner.compute_gradient(samples.batch(step));
    return copy(learner.gradients());
  };
  const auto learner = make_learner(spec_of("cnn", kGrey));
  const std::vector<float> first = gradient(*learner, 1);
  EXPECT_NE(gradient(*learner, 2), first);
  EXPECT_EQ(gradient(*learner, 1), first);
  EXPECT_NE(gradient(*make_learner(spec_of("cnn", kGrey, 1)), 1), first);
  ModelSpec none = spec_of("cnn", kGrey);
  none.settings.dropout = 0.0;
  const auto plain = make_learner(none);
  EXPECT_EQ(gradient(*plain, 1), gradient(*plain, 2));
}

TEST(TorchLearner, ThreadsDoNotDisturbEachOther) {
  const RandomSamples grey(kGrey, 5);
  const RandomSamples colour(kColour, 5);
  const std::vector<float> cnn = trained(spec_of("cnn", kGrey), grey, 4);
  const std::vector<float> resnet = trained(spec_of("resnet20", kColour), colour, 4);
  std::vector<std::vector<float>> results(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i)
      threads.emplace_back([&, i] {
        results[i] = i % 2 == 0 ? trained(spec_of("cnn", kGrey), grey, 4)
                                : trained(spec_of("resnet20", kColour), colour, 4);
      });
  }
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], i % 2 == 0 ? cnn : resnet);
}

TEST(TorchLearner, EvaluateChangesNothing) {
  for (const auto& [name, shape] : {std::pair{"cnn", kGrey}, {"resnet20", kColour}, {"resnet20", kGrey}}) {
    const auto learner = make_learner(spec_of(name, shape));
    const RandomSamples samples(shape, 9);
    learner->compute_gradient(samples.batch());
    const auto parameters = copy(learner->parameters());
    const auto gradients = copy(learner->gradients());
    const auto buffers = copy(learner->buffers());
    const Score score = learner->evaluate(samples.batch());
    EXPECT_EQ(score.count, 9);
    EXPECT_EQ(learner->evaluate(samples.batch(5)).loss_sum, score.loss_sum);
    EXPECT_EQ(copy(learner->parameters()), parameters);
    EXPECT_EQ(copy(learner->gradients()), gradients);
    EXPECT_EQ(copy(learner->buffers()), buffers);
  }
}

TEST(TorchLearner, RefusesWhatDoesNotFit) {
  EXPECT_THROW(make_learner(spec_of("cnn", {1, 6, 6})), RequestError);
  EXPECT_THROW(make_learner(spec_of("resnet20", {100, 1, 1})), RequestError);
  EXPECT_THROW(make_learner(spec_of("mlp", {})), RequestError);
  const auto learner = make_learner(spec_of("cnn", kGrey));
  EXPECT_THROW(learner->compute_gradient(RandomSamples(kColour, 2).batch()), RequestError);
  RandomSamples wrong(kGrey, 2);
  wrong.labels[1] = 10;
  EXPECT_THROW(learner->evaluate(wrong.batch()), RequestError);
}

// A linear model: loss and gradient have closed forms.
TEST(TorchLearner, LearnsNumbersByTheirSquaredError) {
  const Shape shape{3, 1, 1};
  ModelSpec spec = spec_of("mlp", shape);
  spec.settings.hidden = std::vector<std::int64_t>{};
  spec.classes = 1;
  spec.task = Task::regression;
  spec.target_mean = 20;
  spec.target_deviation = 4;
  const auto learner = make_learner(spec);
  const std::vector<float> w(learner->parameters().begin(), learner->parameters().end());  // 3 and the bias
  const std::vector<float> x{1, 2, 3, -1, 0, 2}, y{30, 10}, weights{0.5F, 3};
  Batch batch{.inputs = x, .labels = {}, .shape = shape, .values = y};
  for (const bool weighted : {false, true}) {
    if (weighted) batch.weights = weights;
    const Score score = learner->compute_gradient(batch);
    std::vector<double> gradient(4);
    double loss = 0, absolute = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      double out = w[3];
      for (std::size_t j = 0; j < 3; ++j) out += static_cast<double>(w[j]) * x[3 * i + j];
      const double error = out - (y[i] - 20) / 4, weight = weighted ? weights[i] : 1;
      loss += weight * error * error;
      absolute += std::abs(4 * error);
      for (std::size_t j = 0; j < 4; ++j) gradient[j] += 2 * weight * error * (j < 3 ? x[3 * i + j] : 1);
    }
    const double all = weighted ? 3.5 : 2;
    for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(learner->gradients()[j], gradient[j] / all, 1e-4);
    EXPECT_NEAR(score.loss(), loss / all, 1e-4);
    EXPECT_NEAR(score.error_sum, absolute, 1e-3);  // in the units of the targets
    EXPECT_NEAR(score.target_sum, 40, 1e-4);
    EXPECT_EQ(score.count, 2);
  }
  batch.weights = {};
  std::vector<float> answers(2);
  dynamic_cast<Predictor&>(*learner).predict(x, answers);
  const Score score = learner->evaluate(batch);
  EXPECT_NEAR(score.squared_error_sum, std::pow(answers[0] - 30, 2) + std::pow(answers[1] - 10, 2), 1e-3);
}

// A sample of weight 2 counts as two, and one of weight 0 as none.
TEST(TorchLearner, WeightsCountAsCopies) {
  const ModelSpec spec = spec_of("mlp", kGrey);
  const RandomSamples samples(kGrey, 2);
  std::vector<float> twice(samples.images.begin(), samples.images.begin() + 784);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 784);
  const std::vector<std::int64_t> labels{samples.labels[0], samples.labels[0]};
  const std::vector<float> weights{2, 0};
  const auto one = make_learner(spec), other = make_learner(spec);
  Batch batch = samples.batch();
  batch.weights = weights;
  one->compute_gradient(batch);
  other->compute_gradient({twice, labels, kGrey, 0});
  for (std::size_t i = 0; i < one->gradients().size(); ++i)
    ASSERT_NEAR(one->gradients()[i], other->gradients()[i], 1e-6);
}

}  // namespace
}  // namespace veche
