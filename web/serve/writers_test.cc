#include "web/serve/writers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace veche::web {
namespace {

using namespace std::chrono_literals;

// The letters of the alphabet in turn; each waits for the test.
class Letters final : public Generation {
 public:
  explicit Letters(std::counting_semaphore<>* turns, int fails_at = 1'000'000)
      : turns_(turns), fails_at_(fails_at) {}
  int vocabulary() const override { return 26; }
  int context() const override { return 8; }
  int seen() const override { return 0; }
  std::span<const float> feed(std::span<const std::int32_t> tokens) override {
    if (turns_ != nullptr) turns_->acquire();
    if (fed_++ == fails_at_) throw std::runtime_error("it broke");
    std::ranges::fill(logits_, 0.0F);
    logits_[static_cast<std::size_t>(tokens.back() + 1) % 26] = 1;
    return logits_;
  }
  void clear() override {}

 private:
  std::counting_semaphore<>* const turns_;
  const int fails_at_;
  int fed_ = 0;
  std::vector<float> logits_ = std::vector<float>(26);
};

TextWriter writer(std::counting_semaphore<>* turns = nullptr, int fails_at = 1'000'000) {
  return {std::make_unique<Letters>(turns, fails_at),
          make_tokenizer("characters", "abcdefghijklmnopqrstuvwxyz"),
          std::string_view("a"),
          {.temperature = 0}};
}

// Up to the end of the text.
WrittenText::Part rest_of(WrittenText& text) {
  WrittenText::Part all;
  while (!all.ended) {
    WrittenText::Part part = text.take();
    part.text.insert(0, all.text);
    all = std::move(part);
    std::this_thread::yield();
  }
  return all;
}

void wait_until(const std::function<bool()>& what) {
  while (!what()) std::this_thread::yield();
}

TEST(Writers, WriteToTheEnd) {
  Writers writers(4);
  const auto text = writers.begin(writer(), 5);
  const WrittenText::Part all = rest_of(*text);
  EXPECT_EQ(all.text, "bcdef");
  EXPECT_EQ(all.tokens, 5u);
  EXPECT_EQ(all.failure, "");
  wait_until([&] { return writers.counts().now == 0; });
  EXPECT_EQ(writers.counts().texts, 1u);
  EXPECT_EQ(writers.counts().tokens, 5u);
}

// A short text that begins after a long one is done while the long one goes on.
TEST(Writers, TakeTurns) {
  std::counting_semaphore<> turns(0);
  Writers writers(4);
  const auto longer = writers.begin(writer(&turns), 1'000'000);
  const auto shorter = writers.begin(writer(&turns), 10);
  turns.release(22);
  EXPECT_EQ(rest_of(*shorter).text, "bcdefghijk");
  EXPECT_LE(longer->take().tokens, 12u);
  turns.release(1'000);  // so that the thread can end
}

TEST(Writers, ATextWithoutItsClientEnds) {
  Writers writers(1);
  auto text = writers.begin(writer(), 1'000'000'000);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(writers.begin(writer(), 1), nullptr);  // no more than one at a time
  text.reset();
  wait_until([&] { return writers.counts().now == 0; });
  text = writers.begin(writer(), 1);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(rest_of(*text).text, "b");
}

TEST(Writers, AFailureEndsItsTextAlone) {
  Writers writers(2);
  const auto broken = writers.begin(writer(nullptr, 2), 10);
  const auto whole = writers.begin(writer(), 4);
  const WrittenText::Part all = rest_of(*broken);
  EXPECT_EQ(all.text, "bc");
  EXPECT_EQ(all.failure, "it broke");
  EXPECT_EQ(rest_of(*whole).text, "bcde");
}

}  // namespace
}  // namespace veche::web
