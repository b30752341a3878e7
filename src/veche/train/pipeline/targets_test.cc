#include "veche/train/pipeline/targets.h"

#include <gtest/gtest.h>

#include "tests/support/made_up_sets.h"
#include "veche/data/feed/loader.h"
#include "veche/packed.h"

namespace veche {
namespace {

constexpr NodeId kFirst{4};

Batch through_message(const Dataset& data, BatchStorage& storage, Message& message, std::size_t samples) {
  MessagePool pool;
  message = pack_targets(read_batch(data, 3, samples, storage), pool);
  return unpack_targets(message, samples, data.task(), data.shape(), kFirst);
}

template <class T>
std::vector<T> copy(std::span<const T> items) {
  return {items.begin(), items.end()};
}

TEST(Targets, ReachTheLastStageForEveryTask) {
  for (const bool weighted : {false, true}) {
    BatchStorage storage;
    Message message;
    const testing::MadeUpText text({.weighted = weighted});
    const Batch windows = through_message(text, storage, message, 4);
    EXPECT_EQ(copy(windows.tokens), copy(storage.batch(4).tokens));
    EXPECT_EQ(copy(windows.weights), copy(storage.batch(4).weights));
    EXPECT_EQ(windows.size(), 4u);
    const testing::MadeUpTable table(9, weighted);
    const Batch rows = through_message(table, storage, message, 5);
    EXPECT_EQ(copy(rows.values), copy(storage.batch(5).values));
    EXPECT_EQ(copy(rows.weights), copy(storage.batch(5).weights));
    EXPECT_EQ(rows.weights.empty(), !weighted);
  }
}

TEST(Targets, OfAnotherSizeNameTheirSender) {
  MessagePool pool;
  try {
    unpack_targets(pool.make(7), 2, Task::language, {5, 1, 1}, kFirst);
    FAIL();
  } catch (const BadMessage& error) {
    EXPECT_STREQ(error.what(),
                 "node 4 sent 7 bytes where the targets of 2 samples, 48 bytes without and 88 with weights, "
                 "was expected");
  }
}

}  // namespace
}  // namespace veche
