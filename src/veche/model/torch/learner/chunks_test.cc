#include "veche/model/torch/learner/chunks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace veche::torch_model {
namespace {

// Values whose sum depends on the order of addition.
Score rough(std::size_t from, std::size_t to) {
  Score score;
  for (std::size_t i = from; i < to; ++i)
    score += {.loss_sum = (i % 3 == 0 ? 1e16 : i % 3 == 1 ? -1e16 : 0.1), .correct = i % 2 == 0, .count = 1};
  return score;
}

TEST(Pieces, EverySampleIsScoredOnceWhateverTheThreads) {
  for (const std::size_t samples : {0u, 1u, 15u, 16u, 17u, 100u}) {
    const Score alone = score_in_chunks(samples, 16, 1, rough);
    EXPECT_EQ(alone.count, static_cast<std::int64_t>(samples));
    EXPECT_EQ(alone.correct, static_cast<std::int64_t>((samples + 1) / 2));
    for (const int threads : {-1, 0, 2, 3, 50}) {
      const Score together = score_in_chunks(samples, 16, threads, rough);
      EXPECT_EQ(together.loss_sum, alone.loss_sum) << threads;  // to the bit
      EXPECT_EQ(together.count, alone.count);
      EXPECT_EQ(together.correct, alone.correct);
    }
  }
}

TEST(Pieces, TheFirstThatFailsSpeaksForAll) {
  for (const int threads : {1, 4}) {
    std::atomic<int> scored = 0;
    try {
      score_in_chunks(100, 10, threads, [&](std::size_t from, std::size_t) -> Score {
        ++scored;
        if (from >= 30) throw std::runtime_error("chunk at " + std::to_string(from));
        return {};
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "chunk at 30");
    }
    EXPECT_EQ(scored, 10);
  }
}

TEST(Pieces, AreEqualWhereThatCanBe) {
  EXPECT_EQ(samples_per_chunk({3, 32, 32}, Task::classification, 100),
            10u);  // at most 16 per chunk: ten equal chunks
  EXPECT_EQ(samples_per_chunk({3, 32, 32}, Task::classification, 160), 16u);
  EXPECT_EQ(samples_per_chunk({3, 32, 32}, Task::classification, 37), 13u);  // 13, 13, 11
  EXPECT_EQ(samples_per_chunk({3, 32, 32}, Task::classification, 5), 5u);
  EXPECT_EQ(samples_per_chunk({3, 224, 224}, Task::classification, 100), 8u);
  EXPECT_EQ(samples_per_chunk({784, 1, 1}, Task::classification, 100),
            100u);  // matrix products are best with all samples
  EXPECT_EQ(samples_per_chunk({64, 1, 1}, Task::language, 12), 12u);  // at most 16: 1024 tokens
  EXPECT_EQ(samples_per_chunk({64, 1, 1}, Task::language, 24), 12u);
  EXPECT_EQ(samples_per_chunk({4096, 1, 1}, Task::language, 3), 1u);
}

}  // namespace
}  // namespace veche::torch_model
