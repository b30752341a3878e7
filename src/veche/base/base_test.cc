#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "veche/base/files/cut_files.h"
#include "veche/base/files/mapped_file.h"
#include "veche/base/machine/denormals.h"
#include "veche/base/machine/with_instruction_set.h"
#include "veche/base/text/nearest.h"
#include "veche/message.h"
#include "veche/options.h"
#include "veche/random.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

TEST(MappedFile, KnowsWhatOfItIsStillThere) {
  const testing::TemporaryFolder folder;
  const MappedFile file(folder.write("file", std::string(10000, 'x')));
  const auto head = file.octets().first(5000), tail = file.octets().last(5000);
  EXPECT_TRUE(file.still_has(tail));
  EXPECT_TRUE(file.contains(tail));
  EXPECT_FALSE(file.contains({head.data() - 1, 5}));
  EXPECT_FALSE(file.contains({tail.data(), 5001}));
  std::filesystem::resize_file(file.path(), 9999);
  EXPECT_TRUE(file.still_has(head));
  EXPECT_FALSE(file.still_has(tail));
}

TEST(MappedFileDeathTest, TouchingWhatWasCutOffNamesTheFile) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.write("some file", std::string(10000, 'x'));
  const auto touch = [&] {
    explain_cut_files();
    const MappedFile file(path);
    std::filesystem::resize_file(path, 100);
    volatile const std::uint8_t& byte = file.octets()[9000];
    std::exit(byte);
  };
  EXPECT_EXIT(touch(), ::testing::ExitedWithCode(1),
              "^veche: '/[^\n]*/some file' was cut off or lost while it was in use\n$");
}

TEST(RandomStream, IsAFunctionOfSeedAndPurpose) {
  RandomStream a(7, "shuffle", 1, 2);
  RandomStream b(7, "shuffle", 1, 2);
  RandomStream other_node(7, "shuffle", 2, 1);
  RandomStream other_use(7, "partition", 1, 2);
  const auto first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, other_node.next());
  EXPECT_NE(first, other_use.next());
}

TEST(RandomStream, BelowIsEvenlySpread) {
  RandomStream random(1, "test");
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(RandomStream, NormalHasMeanZeroAndVarianceOne) {
  RandomStream random(1, "test");
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.03);
}

TEST(RandomStream, ShuffleKeepsAllItems) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  const auto sorted = items;
  RandomStream(3, "test").shuffle(std::span(items));
  EXPECT_NE(items, sorted);
  std::ranges::sort(items);
  EXPECT_EQ(items, sorted);
}

TEST(Nearest, FindsTypingErrorsAndBeginnings) {
  const std::vector<std::string> words{"ring", "path", "metropolis", "complete"};
  EXPECT_EQ(nearest("rng", words), "ring");
  EXPECT_EQ(nearest("metro", words), "metropolis");
  EXPECT_EQ(nearest("xyzzy", words), "");
  EXPECT_EQ(suggestion("rign", words), "; did you mean 'ring'?");
  EXPECT_EQ(suggestion("xyzzy", words), "; choose one of ring, path, metropolis, complete");
}

TEST(Options, GivesWholeNumbersAsRealsButNotTheOtherWay) {
  Options options;
  options.set("n", {std::int64_t{3}});
  options.set("x", {0.5});
  EXPECT_EQ(options.get<double>("n"), 3.0);
  EXPECT_EQ(options.get<int>("n"), 3);
  EXPECT_EQ(options.get<int>("absent", 7), 7);
  EXPECT_THROW(options.get<int>("x"), std::logic_error);
  EXPECT_THROW(options.get<int>("absent"), std::logic_error);
}

TEST(MessagePool, UsesMemoryAgainOnceTheLastReaderLetsGo) {
  MessagePool pool;
  const std::byte* first = nullptr;
  {
    Message message = pool.make(1000);
    first = message.bytes().data();
    const Message shared = message;
    message = {};
    EXPECT_NE(pool.make(1000).bytes().data(), first) << "still read by someone";
  }
  EXPECT_EQ(pool.make(1000).bytes().data(), first);
}

TEST(MessagePool, LetsGoOfWhatIsNoLongerNeeded) {
  MessagePool pool;
  constexpr std::size_t kLarge = 1 << 20;
  {
    std::vector<Message> burst;
    for (std::size_t i = 0; i < 20; ++i) burst.push_back(pool.make(kLarge * (i + 1) / 10));
  }
  EXPECT_GT(pool.kept_bytes(), 20 * kLarge);
  for (int i = 0; i < 5000; ++i) pool.make(1000);
  EXPECT_LT(pool.kept_bytes(), 10000U);
}

TEST(MessagePool, KeepsWhatIsUsedAgainAndAgain) {
  MessagePool pool;
  std::set<const std::byte*> seen;
  const auto step = [&] {
    const Message a = pool.make(100000);
    const Message b = pool.make(100000);
    const Message c = pool.make(77);
    for (const Message* message : {&a, &b, &c}) seen.insert(message->bytes().data());
  };
  for (int i = 0; i < 10000; ++i) step();
  EXPECT_EQ(seen.size(), 3U) << "allocated anew";
}

TEST(MessagePool, UsesMemoryAgainForLengthsThatVaryALittle) {
  MessagePool pool;
  std::set<const std::byte*> seen;
  for (std::size_t bytes = 900000; bytes < 901000; ++bytes) seen.insert(pool.make(bytes).bytes().data());
  EXPECT_LE(seen.size(), 2U);
  EXPECT_LT(pool.kept_bytes(), 4000000U);
}

TEST(MessagePool, MessagesOutliveIt) {
  Message message;
  {
    MessagePool pool;
    const std::vector<float> numbers{1, 2, 3};
    message = pool.copy_of(std::span<const float>(numbers));
  }
  EXPECT_EQ(message.as<float>()[2], 3);
}

TEST(InstructionSet, IsTheBestUnlessAnotherIsAskedFor) {
  ASSERT_EQ(instruction_sets().back(), "plain");
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet limited(name);
    EXPECT_EQ(instruction_set(), name);
  }
  EXPECT_EQ(instruction_set(), instruction_sets().front());
  EXPECT_THROW(use_instruction_set("abacus"), std::logic_error);
}

// Parameters: number of vectors, and each instruction set of this processor.
class WeightedSum : public ::testing::TestWithParam<std::tuple<std::size_t, std::string>> {
  const WithInstructionSet limited_{std::get<1>(GetParam())};
};

TEST_P(WeightedSum, MatchesTheDefinitionForEveryLength) {
  const std::size_t inputs = std::get<0>(GetParam());
  for (const std::size_t length : {0, 1, 15, 16, 17, 2047, 2048, 2049, 10000}) {
    RandomStream random(1, "test", length, inputs);
    std::vector<std::vector<float>> vectors(inputs, std::vector<float>(length));
    std::vector<std::span<const float>> spans;
    std::vector<float> weights;
    for (auto& vector : vectors) {
      for (float& x : vector) x = static_cast<float>(random.normal());
      spans.emplace_back(vector);
      weights.push_back(static_cast<float>(random.normal()));
    }
    std::vector<float> out(length, 99.0F);
    weighted_sum(out, spans, weights);
    for (std::size_t i = 0; i < length; ++i) {
      double expected = 0;
      for (std::size_t k = 0; k < inputs; ++k) expected += static_cast<double>(weights[k]) * vectors[k][i];
      ASSERT_NEAR(out[i], expected, 1e-5 * static_cast<double>(inputs)) << "at " << i << " of " << length;
    }
  }
}

TEST_P(WeightedSum, OfOnesEverywhereIsTheSameInOrder) {
  const std::size_t count = std::get<0>(GetParam());
  for (const std::size_t length : {0, 1, 15, 16, 17, 511, 512, 513, 10000}) {
    RandomStream random(2, "test", length, count);
    std::vector<std::vector<float>> vectors(count, std::vector<float>(length));
    for (auto& vector : vectors)
      for (float& x : vector) x = static_cast<float>(random.normal());
    std::vector<float> expected(length);
    for (const auto& vector : vectors)
      for (std::size_t i = 0; i < length; ++i) expected[i] += vector[i];
    const std::vector<std::span<float>> spans(vectors.begin(), vectors.end());
    std::vector<float> total(length);
    sum(total, spans);
    ASSERT_EQ(total, expected) << "of length " << length;
    sum_everywhere(spans);
    for (const auto& vector : vectors) ASSERT_EQ(vector, expected) << "of length " << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, WeightedSum,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 6, 9, 36),
                                            ::testing::ValuesIn(instruction_sets())));

#ifdef __SSE__
TEST(FlushDenormals, HoldsInThreadsBegunMeanwhile) {
  const auto tiny = [] {
    const volatile float a = 1e-30F, b = 1e-10F;
    return a * b;
  };
  ASSERT_GT(tiny(), 0);
  {
    const FlushDenormals flush;
    EXPECT_EQ(tiny(), 0);
    float there = 1;
    std::jthread([&] { there = tiny(); }).join();
    EXPECT_EQ(there, 0);
  }
  EXPECT_GT(tiny(), 0);
}
#endif

TEST(ModelAverage, IsTheMeanUpToRounding) {
  RandomStream random(1, "models");
  for (const int count : {1, 2, 3, 7, 1000}) {
    std::vector<float> mean(33, 77.0F), model(mean.size());
    std::vector<double> sum(mean.size());
    ModelAverage average(mean);
    for (int i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < model.size(); ++k)
        sum[k] += model[k] = static_cast<float>(3 + random.normal());
      average.add(model);
    }
    average.finish();
    for (std::size_t k = 0; k < mean.size(); ++k) EXPECT_NEAR(mean[k], sum[k] / count, 3e-6) << count;
  }
}

// As after all-reduce: a difference by rounding alone would be reported as disagreement.
TEST(ModelAverage, OfEqualModelsIsThatModel) {
  RandomStream random(1, "model");
  std::vector<float> model(1001), mean(model.size());
  for (float& x : model) x = static_cast<float>(random.normal());
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet limited(name);
    ModelAverage average(mean);
    for (int count = 1; count <= 10; ++count) {
      average.add(model);
      EXPECT_EQ(mean, model) << count << " with " << name;
    }
  }
}

TEST(VectorMath, LongNormsAreTheSumOfSquaresEverywhere) {
  RandomStream random(1, "norm");
  std::vector<float> x(1001);
  double expected = 0;
  for (float& each : x) {
    each = static_cast<float>(random.normal());
    expected += static_cast<double>(each) * static_cast<double>(each);
  }
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet limited(name);
    EXPECT_NEAR(squared_norm(x), expected, 1e-9 * expected) << name;
  }
}

TEST(VectorMath, NormsAndDistances) {
  const std::vector<float> x{3, 0, -4};
  const std::vector<float> y{0, 0, 0};
  EXPECT_EQ(squared_norm(x), 25);
  const Distance apart = distance(x, y);
  EXPECT_EQ(apart.l1, 7);
  EXPECT_EQ(apart.l2_squared, 25);
  EXPECT_EQ(apart.linf, 4);
}

}  // namespace
}  // namespace veche
