#include "veche/data/feed/shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/support/made_up_sets.h"
#include "veche/data/sets/borrowed_set.h"
#include "veche/data/sets/image_set.h"
#include "veche/data/sets/synthetic.h"
#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

constexpr std::size_t kSamples = 1000;

std::int64_t label(std::size_t sample) { return static_cast<std::int64_t>(sample % 10); }

Partition home(const char* rule = "sizes:[100,400,250,250]") {
  return partition(kSamples, 4, read_partition(rule), 1, {.label = label, .classes = 10});
}

std::set<std::uint32_t> as_set(const std::vector<std::uint32_t>& samples) {
  return {samples.begin(), samples.end()};
}

TEST(Division, IsOneOfAllSamplesWithTheSizesOfHome) {
  for (const double part : {0.0, 0.001, 0.1, 0.5, 1.0})
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      const Partition now = division(home(), part, 3, epoch);
      ASSERT_EQ(now.size(), 4u);
      std::vector<std::uint32_t> all;
      for (std::size_t node = 0; node < 4; ++node) {
        EXPECT_EQ(now[node].size(), home()[node].size());
        all.insert(all.end(), now[node].begin(), now[node].end());
      }
      std::ranges::sort(all);
      std::vector<std::uint32_t> expected(kSamples);
      std::iota(expected.begin(), expected.end(), 0u);
      EXPECT_EQ(all, expected);
      EXPECT_EQ(now, division(home(), part, 3, epoch));
    }
}

TEST(Division, ExchangesThePartAskedFor) {
  // A node borrows at most the fraction Q. Of the samples dealt at random it gets back its own in
  // proportion to its size.
  for (const double part : {0.1, 0.5}) {
    double kept = 0;
    for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
      const Partition before = home(), now = division(before, part, 3, epoch);
      for (std::size_t node = 0; node < 4; ++node) {
        const auto own = as_set(before[node]);
        const auto still = static_cast<double>(
            std::ranges::count_if(now[node], [&](std::uint32_t sample) { return own.contains(sample); }));
        const auto size = static_cast<double>(own.size());
        EXPECT_GE(still, size - std::round(part * size));
        if (node == 1) kept += still / size / 50;
      }
    }
    EXPECT_NEAR(kept, 1 - part + part * 0.4, 0.01);
  }
}

TEST(Division, PartialZeroIsLocal) {
  EXPECT_EQ(read_shuffle("partial:0"), read_shuffle("local"));
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(division(home(), 0, 3, epoch), home());
}

// A new division in every epoch, independent of the owners: depends only on seed, epoch and sizes.
TEST(Division, PartialOneIsGlobal) {
  EXPECT_EQ(read_shuffle("partial:1"), read_shuffle("global"));
  Partition other = home();
  std::uint32_t next = 0;
  for (auto& shard : other)
    for (std::uint32_t& sample : shard) sample = next++;
  std::set<std::vector<std::uint32_t>> seen;
  double of_class_0 = 0;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const Partition now = division(home(), 1, 3, epoch);
    EXPECT_EQ(now, division(other, 1, 3, epoch));
    EXPECT_NE(now, division(home(), 1, 4, epoch));
    seen.insert(now[0]);
    of_class_0 += static_cast<double>(
        std::ranges::count_if(now[1], [](std::uint32_t sample) { return label(sample) == 0; }));
  }
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_NEAR(of_class_0 / 20, 40, 5);
}

TEST(Division, RefusesInOneSentence) {
  const auto refusal = [](std::string_view rule) -> std::string {
    try {
      read_shuffle(rule);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_EQ(read_shuffle("partial:0.25"), 0.25);
  EXPECT_EQ(refusal("globl"), "data.shuffle = \"globl\" does not exist; did you mean 'global'?");
  for (const char* rule : {"partial:", "partial:2", "partial:-0.1", "partial:nan", "partial:0.1x"})
    EXPECT_NE(refusal(rule).find("needs a number from 0 to 1"), std::string::npos) << rule;
  EXPECT_NE(refusal("partial").find("partial:0.1"), std::string::npos);
}

class Floats final : public Dataset {
 public:
  std::size_t size() const override { return 20; }
  Shape shape() const override { return {2, 1, 1}; }
  int classes() const override { return 20; }
  std::int64_t label(std::size_t index) const override { return static_cast<std::int64_t>(index); }
  void read(std::size_t index, std::span<float> out) const override {
    if (index >= 10) throw std::runtime_error("this sample lives elsewhere");
    std::ranges::fill(out, static_cast<float>(index));
  }
};

TEST(BorrowedSamples, AreReadFromTheirMessages) {
  const auto lender = std::make_shared<ImageSet>(
      make_synthetic({.shape = {3, 4, 4}, .samples = 20}, "train", 1), synthetic_normalization());
  const auto host = std::make_shared<ImageSet>(
      make_synthetic({.shape = {3, 4, 4}, .samples = 20}, "train", 2), synthetic_normalization());
  const auto borrowed = std::make_shared<BorrowedSamples>();
  const auto seen = with_visitors(host, borrowed);
  const std::vector<std::uint32_t> first{3, 17}, second{1, 4, 9};
  for (int epoch = 0; epoch < 2; ++epoch) {
    borrowed->dismiss();
    borrowed->admit(*host, first, BorrowedSamples::pack(*lender, first), NodeId{1});
    borrowed->admit(*host, second, BorrowedSamples::pack(*lender, second), NodeId{1});
    EXPECT_EQ(borrowed->size(), 5u);
    const std::set<std::size_t> away{1, 3, 4, 9, 17};
    std::vector<float> image(48), expected(48);
    for (std::size_t i = 0; i < 20; ++i) {
      (away.contains(i) ? *lender : *host).read(i, expected);
      seen->read(i, image);
      EXPECT_EQ(image, expected);
    }
  }
  EXPECT_THROW(borrowed->admit(*host, first, BorrowedSamples::pack(*lender, second), NodeId{1}), BadMessage);
}

TEST(BorrowedSamples, MayBeFloats) {
  const auto data = std::make_shared<Floats>();
  const auto borrowed = std::make_shared<BorrowedSamples>();
  const auto seen = with_visitors(data, borrowed);
  Message message = BorrowedSamples::pack(*data, std::vector<std::uint32_t>{7});
  borrowed->admit(*data, std::vector<std::uint32_t>{15}, message, NodeId{1});
  std::vector<float> sample(2);
  seen->read(15, sample);
  EXPECT_EQ(sample, (std::vector<float>{7, 7}));
  EXPECT_EQ(seen->label(15), 7);
}

// Whatever the task: the lender's samples differ from those of the set that is read.
template <class Set>
std::shared_ptr<const Dataset> with_borrowed(const std::shared_ptr<const Set>& own, const Set& lender,
                                             const std::shared_ptr<BorrowedSamples>& borrowed) {
  const std::vector<std::uint32_t> samples{2, 5};
  borrowed->admit(*own, samples, BorrowedSamples::pack(lender, samples), NodeId{1});
  return with_visitors(own, borrowed);
}

TEST(BorrowedSamples, MayBeText) {
  using testing::MadeUpText;
  const auto own = std::make_shared<const MadeUpText>(MadeUpText::Form{.vocabulary = 3, .weighted = true});
  const MadeUpText lender({.vocabulary = 7, .weighted = true});
  const auto borrowed = std::make_shared<BorrowedSamples>();
  const auto seen = with_borrowed<MadeUpText>(own, lender, borrowed);
  EXPECT_EQ(BorrowedSamples::bytes_each(*own), 6 * 4 + 5 * 4u);
  EXPECT_EQ(seen->task(), Task::language);
  EXPECT_EQ(seen->tokens()->characters_per_token(), 2);
  std::vector<std::int32_t> window(6);
  seen->tokens()->read_tokens(5, window);
  EXPECT_EQ(window, lender.window(5));
  seen->tokens()->read_tokens(6, window);
  EXPECT_EQ(window, own->window(6));
  std::vector<float> weights(5);
  seen->weights()->read_weights(5, weights);
  EXPECT_EQ(weights, (std::vector<float>{0, 1, 1, 1, 1}));
}

TEST(BorrowedSamples, MayHaveValues) {
  using testing::MadeUpTable;
  const auto own = std::make_shared<const MadeUpTable>(4, true);  // the borrowed sample 5 is not in it
  const auto borrowed = std::make_shared<BorrowedSamples>();
  const auto seen = with_borrowed<MadeUpTable>(own, MadeUpTable(9, true), borrowed);
  EXPECT_EQ(seen->task(), Task::regression);
  EXPECT_EQ(seen->values()->value(5), MadeUpTable::target(5));
  EXPECT_EQ(seen->values()->value(1), MadeUpTable::target(1));
  std::vector<float> row(3), weight(1);
  seen->read(5, row);
  EXPECT_FLOAT_EQ(row[0], static_cast<float>(std::sin(5)));
  seen->weights()->read_weights(5, weight);
  EXPECT_EQ(weight[0], 3);
}

}  // namespace
}  // namespace veche
