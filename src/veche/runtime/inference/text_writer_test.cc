#include "veche/runtime/inference/text_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tests/support/data_sets.h"
#include "veche/errors.h"

namespace veche {
namespace {

using veche::testing::refusal;

// The token after token t is t + 1, or t + 2 half as probable; all others are hardly possible.
class Counting final : public Generation {
 public:
  explicit Counting(int vocabulary) : logits_(static_cast<std::size_t>(vocabulary)) {}
  int vocabulary() const override { return static_cast<int>(logits_.size()); }
  int context() const override { return 8; }
  int seen() const override { return seen_; }
  std::span<const float> feed(std::span<const std::int32_t> tokens) override {
    seen_ += static_cast<int>(tokens.size());
    const auto last = static_cast<std::size_t>(tokens.back());
    std::ranges::fill(logits_, -20.0F);
    logits_[(last + 1) % logits_.size()] = std::log(2.0F);
    logits_[(last + 2) % logits_.size()] = 0;
    return logits_;
  }
  void clear() override { seen_ = 0; }

 private:
  std::vector<float> logits_;
  int seen_ = 0;
};

std::shared_ptr<const Tokenizer> letters() {
  return make_tokenizer("characters", "abcdefghijklmnopqrstuvwxyz");
}

std::string written(const std::string& prompt, const Sampling& how, int tokens) {
  TextWriter writer(std::make_unique<Counting>(26), letters(), prompt, how);
  std::string text;
  for (int i = 0; i < tokens; ++i) text += writer.next();
  return text + writer.rest();
}

TEST(TextWriter, TheSameSeedWritesTheSameText) {
  EXPECT_EQ(written("xyz", {.temperature = 0}, 5), "abcde");
  EXPECT_EQ(written("abc", {.top_k = 1}, 5), "defgh");
  const std::string once = written("a", {.seed = 3}, 200);
  EXPECT_EQ(once, written("a", {.seed = 3}, 200));
  EXPECT_NE(once, written("a", {.seed = 4}, 200));
}

// How often each token is drawn follows softmax(logits / temperature).
TEST(Sampler, DrawsByTheProbabilities) {
  const std::vector<float> logits{0, 1, 2, -1, 2.5};
  constexpr int kDraws = 200'000;
  for (const double temperature : {0.5, 1.0, 2.0})
    for (const int top : {0, 3}) {
      std::vector<double> expected;
      for (const float logit : logits) expected.push_back(std::exp(logit / temperature));
      if (top == 3) expected[0] = expected[3] = 0;
      const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
      Sampler sampler({.temperature = temperature, .top_k = top});
      std::vector<int> drawn(logits.size());
      for (int i = 0; i < kDraws; ++i) ++drawn[static_cast<std::size_t>(sampler.draw(logits))];
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double p = expected[i] / sum, deviation = std::sqrt(p * (1 - p) / kDraws);
        EXPECT_NEAR(static_cast<double>(drawn[i]) / kDraws, p, 5 * deviation) << temperature << " " << i;
      }
    }
}

TEST(Sampler, RefusesWhatIsNoSampling) {
  EXPECT_THROW(Sampler({.temperature = -1}), RequestError);
  EXPECT_THROW(Sampler({.temperature = std::nan("")}), RequestError);
  EXPECT_THROW(Sampler({.temperature = std::numeric_limits<double>::infinity()}), RequestError);
  EXPECT_THROW(Sampler({.top_k = -1}), RequestError);
  const std::array<float, 2> broken{0, std::nanf("")};
  EXPECT_THROW(Sampler({}).draw(broken), RunError);
}

TEST(TextWriter, RefusesPromptsThatItCannotRead) {
  EXPECT_NE(refusal([] { written("", {}, 1); }).find("the prompt is empty"), std::string::npos);
  EXPECT_NE(refusal([] { written("a\xc3\xa9", {}, 1); }).find("the prompt has '\xc3\xa9'"),
            std::string::npos);
  EXPECT_NE(refusal([] { written("a\xff", {}, 1); }).find("not UTF-8"), std::string::npos);
}

// Tokens of bytes: characters come whole, and what is none as U+FFFD.
TEST(TextWriter, GivesWholeCharacters) {
  class Script final : public Generation {
   public:
    explicit Script(std::string bytes) : bytes_(std::move(bytes)) {}
    int vocabulary() const override { return 256; }
    int context() const override { return 8; }
    int seen() const override { return 0; }
    std::span<const float> feed(std::span<const std::int32_t>) override {
      std::ranges::fill(logits_, 0.0F);
      logits_[static_cast<unsigned char>(bytes_.at(at_++))] = 1;
      return logits_;
    }
    void clear() override { at_ = 0; }

   private:
    const std::string bytes_;
    std::size_t at_ = 0;
    std::array<float, 256> logits_{};
  };
  TextWriter writer(std::make_unique<Script>("a\xc3\xa9\xff\xf0\x9f\x98\x80\xe2\x82"),
                    make_tokenizer("bytes", ""), "x", {.temperature = 0});
  std::vector<std::string> parts;
  for (int i = 0; i < 10; ++i) parts.push_back(writer.next());
  parts.push_back(writer.rest());
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "\xc3\xa9", "\xef\xbf\xbd", "", "", "",
                                             "\xf0\x9f\x98\x80", "", "", "\xef\xbf\xbd"}));
}

}  // namespace
}  // namespace veche
