#include "veche/data/sets/source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "veche/data/sets/image_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

std::string refusal(const DataSettings& settings) {
  try {
    open_data(settings, 1);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::vector<float> sample(const Dataset& data, std::size_t index) {
  std::vector<float> image(data.shape().size());
  data.read(index, image);
  return image;
}

struct Moments {
  double mean, deviation;
};
Moments moments(const Dataset& data) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (const double v : sample(data, i)) {
      sum += v;
      squares += v * v;
    }
  }
  const double count = static_cast<double>(data.size() * data.shape().size());
  return {sum / count, std::sqrt(squares / count - sum / count * (sum / count))};
}

std::vector<int> histogram(const Dataset& data) {
  std::vector<int> counts(static_cast<std::size_t>(data.classes()));
  for (std::size_t i = 0; i < data.size(); ++i) ++counts.at(static_cast<std::size_t>(data.label(i)));
  return counts;
}

TEST(Source, FashionMnistIsTheDefault) {
  const DataSource source =
      open_data({}, 1);  // needs the Debian package dataset-fashion-mnist: scripts/setup
  EXPECT_EQ(source.name, "fashion-mnist");
  EXPECT_EQ(source.train->size(), 60000u);
  EXPECT_EQ(source.test->size(), 10000u);
  EXPECT_EQ(source.train->shape(), (Shape{1, 28, 28}));
  EXPECT_EQ(histogram(*source.train), std::vector<int>(10, 6000));
  EXPECT_EQ(histogram(*source.test), std::vector<int>(10, 1000));
  const auto [mean, deviation] = moments(*source.train);
  EXPECT_NEAR(mean, 0, 1e-4);
  EXPECT_NEAR(deviation, 1, 1e-4);
}

TEST(Source, MissingFilesNameThemselvesAndTheWayOut) {
  EXPECT_NE(refusal({.name = "fashion-mnist", .path = {"/no/such"}}).find("dataset-fashion-mnist"),
            std::string::npos);
  EXPECT_NE(refusal({.name = "mnist"}).find("data.path is needed for 'mnist'"), std::string::npos);

  const auto empty = std::filesystem::temp_directory_path() / ("veche-source-" + std::to_string(getpid()));
  std::filesystem::create_directories(empty);
  const std::string text = refusal({.name = "mnist", .path = {empty.string()}});
  std::filesystem::remove_all(empty);
  EXPECT_NE(text.find("train-images-idx3-ubyte' is missing"), std::string::npos) << text;
}

TEST(Source, UnknownNamesGetASuggestion) {
  EXPECT_EQ(refusal({.name = "fashion"}), "data.name 'fashion' is unknown; did you mean 'fashion-mnist'?");
  EXPECT_EQ(data_names(),
            (std::vector<std::string>{"fashion-mnist", "mnist", "cifar10", "cifar100", "synthetic", "text"}));
}

TEST(Source, SyntheticIsRepeatableAndNormalised) {
  for (const double noise : {0.0, 1.0, 5.0}) {
    const DataSettings settings{.name = "synthetic", .noise = noise};
    const DataSource a = open_data(settings, 7), b = open_data(settings, 7), other = open_data(settings, 8);
    EXPECT_EQ(a.train->size(), 2000u);
    EXPECT_EQ(a.test->size(), 500u);
    EXPECT_EQ(histogram(*a.train), std::vector<int>(10, 200));
    EXPECT_EQ(sample(*a.train, 33), sample(*b.train, 33));
    EXPECT_NE(sample(*a.train, 33), sample(*other.train, 33));
    EXPECT_EQ(sample(*a.train, 33) != sample(*a.test, 33), noise > 0);
    EXPECT_NEAR(moments(*a.train).mean, 0, 0.02);
    EXPECT_NEAR(moments(*a.train).deviation, 1, 0.02);
  }
}

TEST(Source, SyntheticSamplesDoNotDependOnTheirNumber) {
  const DataSettings few{.name = "synthetic", .samples = 40};
  const DataSettings many{.name = "synthetic", .samples = 90};
  EXPECT_EQ(sample(*open_data(few, 1).train, 39), sample(*open_data(many, 1).train, 39));
}

TEST(Source, SyntheticCanBeLearned) {
  const DataSource source = open_data({.name = "synthetic", .shape = {3, 8, 8}}, 1);
  const std::size_t size = source.train->shape().size();
  ASSERT_EQ(size, 192u);
  std::vector<std::vector<double>> means(10, std::vector<double>(size));
  for (std::size_t i = 0; i < source.train->size(); ++i) {
    const std::vector<float> image = sample(*source.train, i);
    for (std::size_t p = 0; p < size; ++p)
      means[static_cast<std::size_t>(source.train->label(i))][p] += image[p] / 200;
  }
  int correct = 0;
  for (std::size_t i = 0; i < source.test->size(); ++i) {
    const std::vector<float> image = sample(*source.test, i);
    std::pair<double, std::size_t> best{1e30, 0};
    for (std::size_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (std::size_t p = 0; p < size; ++p) distance += std::pow(image[p] - means[c][p], 2);
      best = std::min(best, {distance, c});
    }
    correct += static_cast<std::int64_t>(best.second) == source.test->label(i) ? 1 : 0;
  }
  EXPECT_GT(correct, 490);
}

TEST(Source, SyntheticTakesAnyShape) {
  for (const auto& sizes : {std::vector<std::int64_t>{20, 1, 1}, {1, 1, 1}, {3, 2, 5}, {4, 1, 9}}) {
    const DataSource source = open_data({.name = "synthetic", .shape = sizes}, 1);
    for (const float v : sample(*source.train, 0)) EXPECT_LE(std::abs(v), 3.0001f);
  }
}

TEST(Source, SyntheticRefusesNonsense) {
  const std::string name = "synthetic";
  EXPECT_NE(refusal({.name = name, .shape = {1, 28}}).find("data.shape is [1, 28]"), std::string::npos);
  EXPECT_NE(refusal({.name = name, .shape = {1, 0, 2}}).find("data.shape"), std::string::npos);
  EXPECT_NE(refusal({.name = name, .shape = {1 << 20, 1 << 20, 1 << 30}}).find("data.shape"),
            std::string::npos);
  EXPECT_NE(refusal({.name = name, .classes = 1}).find("data.classes is 1"), std::string::npos);
  EXPECT_NE(refusal({.name = name, .samples = -1}).find("data.samples"), std::string::npos);
  EXPECT_NE(refusal({.name = name, .noise = -1.0}).find("data.noise"), std::string::npos);
}

TEST(ImageSet, NormalisesEveryChannelByItsOwnNumbers) {
  const ImageSet set(samples_of({2, 1, 2}, 2, {0, 255, 51, 102, 255, 0, 0, 0}, {1, 0}),
                     {.mean = {0, 0.5}, .deviation = {1, 0.25}});
  EXPECT_EQ(sample(set, 0), (std::vector<float>{0, 2, 0.2f, static_cast<float>((0.4 - 0.5) / 0.25)}));
  EXPECT_EQ(sample(set, 1), (std::vector<float>{1, -2, 0, -2}));
  EXPECT_EQ(set.label(0), 1);
}

TEST(ImageSet, RefusesPartsThatDoNotFit) {
  const Samples samples = samples_of({3, 1, 1}, 2, {1, 2, 3}, {1});
  EXPECT_THROW(ImageSet(samples, {.mean = {0, 1}, .deviation = {1}}), std::invalid_argument);
  EXPECT_THROW(samples_of({3, 1, 1}, 2, {1, 2}, {1}), std::invalid_argument);
}

}  // namespace
}  // namespace veche
