// Every network of the zoo: its number of parameters, that it trains, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/model/tensor_layout.h"
#include "veche/model/torch_test_samples.h"

namespace veche {
namespace {

std::size_t parameters_of(const std::string& name, Shape input, int classes) {
  ModelSpec spec = spec_of(name, input);
  spec.classes = classes;
  std::size_t sum = 0;
  for (const TensorLayout& tensor : describe_model(spec).parameters) sum += size_of(tensor);
  return sum;
}

ModelSpec with(const std::string& name, const ModelSettings& settings) {
  ModelSpec spec = spec_of(name, small_shape(name));
  spec.settings = settings;
  return spec;
}

ModelSpec with_norm(const std::string& name, const std::string& norm) { return with(name, {.norm = norm}); }

// Of a name that may not exist, or with samples of another kind.
ModelSpec other(const std::string& name, Shape input) {
  ModelSpec spec;
  spec.name = name;
  spec.input = input;
  return spec;
}

std::string refusal_of(const ModelSpec& spec) {
  try {
    make_learner(spec);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

// The networks whose step takes at most a second.
std::vector<std::string> small_enough() {
  std::vector<std::string> names;
  for (const ModelInfo& info : list_models())
    if (info.input.size() > 0 && info.name != "wrn-28-10" && info.name != "wide_resnet50_2" &&
        info.name != "gpt2")
      names.push_back(info.name);
  return names;
}

void expect_a_step_to_help(const ModelSpec& spec) {
  const auto learner = make_learner(spec);
  const RandomSamples samples(spec, 4);
  std::vector<float> told(learner->gradients().size(), NAN);
  learner->on_gradient_ready([&](std::size_t from, std::size_t to) {
    const auto part = told.begin() + static_cast<std::ptrdiff_t>(from);
    EXPECT_TRUE(std::all_of(part, part + static_cast<std::ptrdiff_t>(to - from),
                            [](float value) { return std::isnan(value); }))
        << spec.name << ": told twice of " << from << " to " << to;
    std::copy_n(learner->gradients().data() + from, to - from, part);
  });
  const double before = learner->compute_gradient(samples.batch()).loss();
  EXPECT_EQ(told, copy(learner->gradients())) << spec.name;
  learner->on_gradient_ready({});
  EXPECT_TRUE(std::isfinite(before)) << spec.name;
  double square = 0;
  for (const float g : learner->gradients()) square += static_cast<double>(g) * g;
  ASSERT_GT(square, 0) << spec.name;
  // So short that the loss falls by the predicted amount from any point.
  const double length = 1e-2 / std::sqrt(square);
  for (std::size_t i = 0; i < learner->parameters().size(); ++i)
    learner->parameters()[i] -= static_cast<float>(length * learner->gradients()[i]);
  EXPECT_LT(learner->compute_gradient(samples.batch()).loss(), before) << spec.name;
}

TEST(TorchZoo, EveryListedModelHasTheParametersItIsListedWith) {
  for (const ModelInfo& info : list_models()) {
    if (info.input.size() == 0) continue;
    EXPECT_EQ(parameters_of(info.name, info.input, info.classes), static_cast<std::size_t>(info.parameters))
        << info.name;
  }
}

TEST(TorchZoo, ListsParametersAsPublished) {
  const std::vector<std::pair<std::string, std::int64_t>> published = {
      {"resnet18", 11'689'512},
      {"resnet50", 25'557'032},
      {"wide_resnet50_2", 68'883'240},
      {"mobilenet_v3_small", 2'542'856},
      {"mobilenet_v3_large", 5'483'032},
      {"squeezenet1_0", 1'248'424},
      {"squeezenet1_1", 1'235'496},
      {"efficientnet_v2_s", 21'458'488},
      {"shufflenet_v2_x1_0", 2'278'604},
      {"convnext_tiny", 28'589'128},
      {"resnet20", 269'722},
      {"resnet56", 853'018},
      {"resnet110", 1'727'962},
      {"wrn-28-10", 36'479'194},
      {"wrn-16-8", 10'961'370},
      {"cnn", 1'475'338},
      {"gpt-nano", 804'096},
      {"gpt-mini", 10'745'088},
      {"gpt2", 124'439'808},
  };
  for (const auto& [name, count] : published) {
    const auto info = std::ranges::find(list_models(), name, &ModelInfo::name);
    ASSERT_NE(info, list_models().end()) << name;
    EXPECT_EQ(info->parameters, count) << name;
  }
}

TEST(TorchZoo, CountsFollowClassesAndWidths) {
  EXPECT_EQ(parameters_of("resnet20", kColour, 100), 275'572U);
  ModelSpec deep = spec_of("mlp", kGrey);
  deep.settings.hidden = {20, 30};
  EXPECT_EQ(make_learner(deep)->parameters().size(), 784U * 20 + 20 + 20 * 30 + 30 + 30 * 10 + 10);
  // The small stem of a residual network has 3x3 kernels instead of 7x7.
  EXPECT_EQ(parameters_of("resnet18", kColour, 1000), 11'689'512U - 3 * 64 * (49 - 9));
}

TEST(TorchZoo, EveryNetworkTrainsOnSmallSamples) {
  for (const std::string& name : small_enough()) {
    ModelSpec spec = spec_of(name, small_shape(name));
    spec.settings.dropout = 0.0;
    spec.settings.stochastic_depth = 0.0;
    expect_a_step_to_help(spec);
  }
}

TEST(TorchZoo, EveryNormTrains) {
  for (const char* norm : {"group:4", "layer", "none"})
    for (const char* name : {"cnn", "resnet20", "resnet18", "wrn-10-1"}) {
      ModelSpec spec = with_norm(name, norm);
      spec.settings.dropout = 0.0;
      expect_a_step_to_help(spec);
      EXPECT_TRUE(make_learner(spec)->buffers().empty()) << name << ' ' << norm;
    }
}

// As on a device: parameters are copied there, libtorch's operations run, and gradients and
// statistics are copied back.
TEST(TorchZoo, ComputingWithCopiesGivesTheSameGradients) {
  for (const char* name : {"mlp", "cnn", "resnet20", "resnet18", "mobilenet_v3_small", "shufflenet_v2_x1_0",
                           "vit_tiny", "gpt-nano"}) {
    const auto here = make_learner(spec_of(name, small_shape(name)));
    const auto away = make_learner(with(name, {.device = ComputeDevice::copies}));
    bool told = false;
    away->on_gradient_ready([&](std::size_t, std::size_t) { told = true; });
    const RandomSamples samples(spec_of(name, small_shape(name)), 4);
    ASSERT_EQ(copy(here->parameters()), copy(away->parameters())) << name;
    for (std::uint64_t step = 0; step < 2; ++step) {
      const double loss = here->compute_gradient(samples.batch(step)).loss();
      EXPECT_NEAR(away->compute_gradient(samples.batch(step)).loss(), loss, 1e-4 * loss) << name;
      double difference = 0, square = 0;
      for (std::size_t i = 0; i < here->gradients().size(); ++i) {
        const double g = here->gradients()[i];
        square += g * g;
        difference += std::pow(away->gradients()[i] - g, 2);
      }
      EXPECT_LT(std::sqrt(difference / square), 2e-2) << name;
      for (std::size_t i = 0; i < here->parameters().size(); ++i)
        away->parameters()[i] = here->parameters()[i] -= 1e-3F * here->gradients()[i];
    }
    ASSERT_EQ(here->buffers().size(), away->buffers().size());
    for (std::size_t i = 0; i < here->buffers().size(); ++i)
      EXPECT_NEAR(here->buffers()[i], away->buffers()[i], 1e-3 * std::max(1.0F, std::abs(here->buffers()[i])))
          << name;
    EXPECT_NEAR(away->evaluate(samples.batch()).loss(), here->evaluate(samples.batch()).loss(), 1e-3) << name;
    EXPECT_FALSE(told) << name << ": nothing is final before it was fetched";
  }
}

TEST(TorchZoo, LeavingOutIsAFunctionOfTheStep) {
  for (const char* name : {"squeezenet1_1", "convnext_tiny", "gpt-nano"}) {
    ModelSpec spec = spec_of(name, small_shape(name));
    if (spec.task == Task::language) spec.settings.dropout = 0.2;
    const auto learner = make_learner(spec);
    const RandomSamples samples(spec, 4);
    const auto gradient = [&](std::uint64_t step) {
      learner->compute_gradient(samples.batch(step));
      return copy(learner->gradients());
    };
    const std::vector<float> first = gradient(1);
    EXPECT_NE(gradient(2), first) << name;
    EXPECT_EQ(gradient(1), first) << name;
  }
}

TEST(TorchZoo, RefusesWhatANetworkDoesNotHave) {
  const auto says = [](const ModelSpec& spec, const std::string& part) {
    const std::string text = refusal_of(spec);
    EXPECT_NE(text.find(part), std::string::npos) << spec.name << " said: " << text;
  };
  says(with_norm("resnet20", "grup:4"), "choose batch, group:G");
  says(with_norm("resnet20", "group:0"), "choose batch, group:G");
  says(with_norm("resnet20", "group:7"), "choose group:4");
  says(with_norm("shufflenet_v2_x1_0", "group:8"), "choose group:2");
  says(with_norm("vit_tiny", "batch"), "choose layer");
  says(with_norm("squeezenet1_0", "batch"), "choose none");
  says(with_norm("mobilenet_v3_small", "none"), "choose batch, group:G or layer");
  says(with("resnet20", {.stem = ModelStem::small}), "model.stem");
  says(with("resnet18", {.dropout = 0.5}), "model.dropout");
  says(with("cnn", {.stochastic_depth = 0.5}), "model.stochastic_depth");
  says(with("quadratic", {.device = ComputeDevice::cuda}), "leave the key out");
  says(spec_of("vit_tiny", {3, 30, 30}), "does not divide 30x30");
  says(spec_of("convnext_tiny", {3, 8, 8}), "at least 16x16");
  says(other("wrn-27-10", kColour), "choose wrn-28-10");
  says(other("wrn-28", kColour), "did you mean");
  says(other("resnet19", kColour), "did you mean");
  says(with_norm("gpt-nano", "batch"), "choose layer");
  says(spec_of("gpt-nano", {65, 1, 1}), "set model.context to that");
  says(other("gpt-nano", kColour), "choose data.name = \"text\"");
}

}  // namespace
}  // namespace veche
