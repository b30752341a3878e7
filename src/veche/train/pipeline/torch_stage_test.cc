// Stages of real networks, driven by hand in one thread: a cut changes no number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/cut_model.h"
#include "veche/errors.h"
#include "veche/model/torch_test_samples.h"
#include "veche/train/pipeline/schedule.h"

namespace veche {
namespace {

using testing::CutModel;

// Relative, in the norm.
double difference(std::span<const float> a, std::span<const float> b) {
  double apart = 0, norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += std::pow(static_cast<double>(a[i]) - b[i], 2);
    norm += std::pow(b[i], 2);
  }
  return std::sqrt(apart / norm);
}

ModelSpec without_norm(const std::string& name, Shape shape) {
  ModelSpec spec = spec_of(name, shape);
  spec.settings.norm = "none";
  if (name == "cnn") spec.settings.dropout = 0.0;
  return spec;
}

TEST(Stages, HaveTheGradientOfOneLearner) {
  for (const auto& [name, shape] :
       {std::pair{"cnn", kGrey}, {"lenet5", kGrey}, {"mlp", kGrey}, {"resnet20", kColour}}) {
    ModelSpec spec = without_norm(name, shape);
    if (spec.name == "mlp") spec.settings.hidden = {64, 32, 16};
    const RandomSamples samples(shape, 50);
    const auto learner = make_learner(spec);
    const Score score = learner->compute_gradient(samples.batch());
    for (const int stages : {1, 2, 3, 4})
      for (const int micro_batches : {1, 4, 8}) {
        CutModel cut(spec, stages);
        EXPECT_EQ(cut.joined(&Learner::parameters), copy(learner->parameters())) << name;
        const Score told = cut.step(samples.batch(), Schedule::one_f_one_b, micro_batches);
        EXPECT_LT(difference(cut.joined(&Learner::gradients), learner->gradients()), 1e-5)
            << name << " in " << stages << " stages, " << micro_batches << " micro-batches";
        EXPECT_EQ(told.count, 50);
        EXPECT_EQ(told.correct, score.correct);
        EXPECT_NEAR(told.loss(), score.loss(), 1e-5);
      }
  }
}

TEST(Stages, LearnWeightedNumbersAndClassesAsOneLearnerDoes) {
  for (const Task task : {Task::classification, Task::regression}) {
    ModelSpec spec = spec_of("mlp", kGrey);
    spec.settings.hidden = {32, 16};
    spec.task = task;
    if (task == Task::regression) spec.classes = 1;
    spec.target_mean = 3;
    spec.target_deviation = 2;
    const RandomSamples samples(kGrey, 20);
    std::vector<float> weights, values;
    for (int i = 0; i < 20; ++i) weights.push_back(0.25F * static_cast<float>(i % 5));
    for (int i = 0; i < 20; ++i) values.push_back(static_cast<float>(i));
    Batch batch = samples.batch();
    batch.weights = weights;
    if (task == Task::regression) {
      batch.labels = {};
      batch.values = values;
    }
    const auto learner = make_learner(spec);
    const Score score = learner->compute_gradient(batch);
    CutModel cut(spec, 3);
    const Score told = cut.step(batch, Schedule::one_f_one_b, 4);
    EXPECT_LT(difference(cut.joined(&Learner::gradients), learner->gradients()), 1e-5);
    EXPECT_NEAR(told.loss(), score.loss(), 1e-5);
    EXPECT_NEAR(told.squared_error_sum, score.squared_error_sum, 1e-2);
  }
}

// Every network of the list, cut in the middle.
TEST(Stages, AreOfEveryNetwork) {
  for (const ModelInfo& info : list_models()) {
    if (info.input.size() == 0) continue;
    const bool text = task_of(info.name) == Task::language;
    const Shape shape = text ? kText : info.input.height > 32 ? kColour : info.input;
    ModelSpec spec = spec_of(info.name, shape);
    if (info.name == "gpt2") spec.settings.layers = 2;  // and all its biases
    if (info.name == "wrn-28-10") continue;             // wrn-16-8 in large
    if (info.name == "cnn" || info.name.starts_with("mobilenet") || info.name.starts_with("squeeze") ||
        info.name.starts_with("efficient"))
      spec.settings.dropout = 0.0;
    if (info.name.starts_with("efficient") || info.name.starts_with("convnext"))
      spec.settings.stochastic_depth = 0.0;
    const RandomSamples samples(spec, 2);
    const auto learner = make_learner(spec);
    learner->compute_gradient(samples.batch());
    CutModel cut(spec, 2);
    EXPECT_EQ(cut.joined(&Learner::parameters), copy(learner->parameters())) << info.name;
    cut.step(samples.batch(), Schedule::gpipe, 1);
    EXPECT_LT(difference(cut.joined(&Learner::gradients), learner->gradients()), 1e-5) << info.name;
    EXPECT_EQ(cut.joined(&Learner::buffers), copy(learner->buffers())) << info.name;
    EXPECT_NEAR(cut.test(samples.batch()).loss(), learner->evaluate(samples.batch()).loss(), 1e-4)
        << info.name;
    std::vector<TensorLayout> names = cut.all[0]->parameter_layout();
    const auto rest = cut.all[1]->parameter_layout();
    names.insert(names.end(), rest.begin(), rest.end());
    const auto whole = learner->parameter_layout();
    ASSERT_EQ(names.size(), whole.size()) << info.name;
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(names[i].name, whole[i].name) << info.name;
  }
}

TEST(Stages, LearnTheSameToTheBitWithEverySchedule) {
  const ModelSpec spec = spec_of("resnet20", kColour);  // with batch norm
  const RandomSamples samples(kColour, 11);
  std::vector<std::vector<float>> gradients, buffers;
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::naive}) {
    CutModel cut(spec, 3);
    cut.step(samples.batch(), schedule, 4);
    gradients.push_back(cut.joined(&Learner::gradients));
    buffers.push_back(cut.joined(&Learner::buffers));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
  EXPECT_EQ(buffers[0], buffers[1]);
}

TEST(Stages, KeepStatisticsAsIfEveryMicroBatchWereABatch) {
  const ModelSpec spec = spec_of("resnet20", kColour);
  const RandomSamples samples(kColour, 11);
  const auto learner = make_learner(spec);
  for (int part = 0; part < 4; ++part) {
    const std::size_t from = first_sample_in(11, 4, part), count = samples_in(11, 4, part);
    learner->compute_gradient(
        {std::span(samples.images).subspan(from * kColour.size(), count * kColour.size()),
         std::span(samples.labels).subspan(from, count), kColour, 0});
  }
  for (const bool recompute : {false, true}) {
    CutModel cut(spec, 3, recompute);
    cut.step(samples.batch(), Schedule::one_f_one_b, 4);
    // The convolution of small parts uses other code while its weights are unchanged: the fifth
    // digit may differ.
    EXPECT_LT(difference(cut.joined(&Learner::buffers), learner->buffers()), 1e-5);
  }
}

TEST(Stages, DropTheSameForEveryCut) {
  ModelSpec spec = spec_of("wrn-10-1", kColour);
  spec.settings.dropout = 0.5;
  const RandomSamples samples(kColour, 8);
  CutModel one(spec, 1);
  one.step(samples.batch(5), Schedule::gpipe, 4);
  const std::vector<float> expected = one.joined(&Learner::gradients);
  for (const int stages : {2, 3, 5})
    for (const bool recompute : {false, true}) {
      CutModel cut(spec, stages, recompute);
      cut.step(samples.batch(5), Schedule::one_f_one_b, 4);
      EXPECT_EQ(cut.joined(&Learner::gradients), expected) << stages;
    }
  CutModel later(spec, 2);
  later.step(samples.batch(6), Schedule::one_f_one_b, 4);
  EXPECT_NE(later.joined(&Learner::gradients), expected);
}

TEST(Stages, HoldLessWhenTheyComputeAgain) {
  const ModelSpec spec = spec_of("resnet20", kColour);
  const RandomSamples samples(kColour, 64);
  const auto most = [&](Schedule schedule, bool recompute) {
    CutModel cut(spec, 4, recompute);
    cut.step(samples.batch(), schedule, 16);
    return cut.all.front()->most_bytes_held();
  };
  EXPECT_GT(most(Schedule::gpipe, false), 0U);
  EXPECT_LT(static_cast<double>(most(Schedule::one_f_one_b, false)),
            0.6 * static_cast<double>(most(Schedule::gpipe, false)));
  EXPECT_LT(static_cast<double>(most(Schedule::gpipe, true)),
            0.5 * static_cast<double>(most(Schedule::gpipe, false)));
}

// Until the backward pass a stage keeps only its input.
TEST(Stages, CountWhatTheyHoldOfMessages) {
  const ModelSpec spec = spec_of("resnet20", kColour);
  const RandomSamples samples(kColour, 64);
  const auto most = [&](Schedule schedule) {
    CutModel cut(spec, 2, true);
    cut.step(samples.batch(), schedule, 16);
    return cut.all.back()->most_bytes_held();
  };
  constexpr std::size_t kInput = 4 * 32 * 16 * 16 * sizeof(float);  // at the cut: four images in 32 channels
  // The peak is at the second backward pass, with the weights that the first one prepared: 15
  // inputs beside 1.
  EXPECT_GE(most(Schedule::gpipe), most(Schedule::one_f_one_b) + 14 * kInput);
}

// Weights are prepared once in a step, and not for longer.
TEST(Stages, SeeThatParametersHaveChanged) {
  ModelSpec spec =
      spec_of("squeezenet1_1", kColour);  // no statistics, so that steps differ by parameters alone
  spec.settings.dropout = 0.0;
  const RandomSamples samples(kColour, 8);
  const auto halve = [](CutModel& cut) {
    for (const auto& stage : cut.all)
      for (float& number : stage->parameters()) number *= 0.5F;
  };
  CutModel learning(spec, 2), fresh(spec, 2);
  learning.step(samples.batch(), Schedule::one_f_one_b, 4);
  halve(learning);
  learning.step(samples.batch(), Schedule::one_f_one_b, 4);
  halve(fresh);
  fresh.step(samples.batch(), Schedule::one_f_one_b, 4);
  EXPECT_EQ(learning.joined(&Learner::gradients), fresh.joined(&Learner::gradients));
}

TEST(Stages, SayOnceWhenAPartOfTheGradientIsFinal) {
  for (const bool recompute : {false, true}) {
    const RandomSamples samples(kGrey, 8);
    CutModel cut(spec_of("cnn", kGrey), 2, recompute);
    for (const auto& stage : cut.all) {
      std::vector<int> told(stage->parameters().size());
      stage->on_gradient_ready([&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) ++told[i];
      });
      cut.step(samples.batch(), Schedule::one_f_one_b, 4);
      stage->on_gradient_ready({});
      EXPECT_EQ(std::ranges::count_if(told, [](int times) { return times > 1; }), 0);
      // All but the biases that a norm cancels: a gradient that is zero need not be reported.
      EXPECT_GE(std::ranges::count(told, 1), static_cast<std::ptrdiff_t>(told.size()) - 32 - 64);
    }
  }
}

TEST(Stages, RefuseWhatIsNoTensor) {
  CutModel cut(spec_of("lenet5", kGrey), 2);
  const RandomSamples samples(kGrey, 2);
  StageInput input{.batch = samples.batch()};
  EXPECT_THROW(cut.all[1]->forward({.whole = 2}, input, cut.pool), RunError);
  input.activation = cut.pool.copy_of(std::span<const float>(samples.images).first(100));
  EXPECT_THROW(cut.all[1]->forward({.whole = 2}, input, cut.pool), RunError);
  const RandomSamples more(kGrey, 3);
  input.activation = cut.all[0]->forward({.whole = 3}, {.batch = more.batch()}, cut.pool);
  EXPECT_THROW(cut.all[1]->forward({.whole = 2}, input, cut.pool), RunError);  // 2 labels
}

TEST(Stages, AreNotOfModelsWithoutBlocks) {
  EXPECT_THROW(describe_blocks(spec_of("quadratic", kGrey)), RequestError);
  EXPECT_THROW(describe_blocks(spec_of("vector", kGrey)), RequestError);
}

}  // namespace
}  // namespace veche
