#include "bench/mix/mix.h"

#include <chrono>
#include <cmath>
#include <span>
#include <string>

#include "bench/rounds.h"
#include "veche/errors.h"
#include "veche/random.h"
#include "veche/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/mix/mix.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::HWY_NAMESPACE {
namespace {

void triad(float* __restrict a, const float* b, const float* c, float s, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

}  // namespace
}  // namespace veche::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche {
namespace {

HWY_EXPORT(triad);

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLength = 1'500'000;
constexpr int kRepeats = 40;
constexpr int kQuickRepeats = 2;

template <class Pass>
double bytes_per_second(int repeats, std::size_t floats, Pass pass) {
  pass();  // warm-up
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) pass();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return static_cast<double>(floats * sizeof(float)) * repeats / seconds;
}

BenchCase measure(std::size_t count, const BenchOptions& options) {
  RandomStream random(1, "bench");
  std::vector<std::vector<float>> vectors(count, std::vector<float>(kLength));
  std::vector<std::span<const float>> inputs;
  for (auto& vector : vectors) {
    for (float& x : vector) x = static_cast<float>(random.uniform());
    inputs.emplace_back(vector);
  }
  const std::vector<float> weights(count, 1.0F / static_cast<float>(count));
  std::vector<float> out(kLength);
  // Three vectors with the same total number of bytes, so that caches affect both sides equally.
  const std::size_t triad_length = kLength * (count + 1) / 3;
  std::vector<float> a(triad_length), b(triad_length, 1.0F), c(triad_length, 2.0F);

  const int repeats = options.quick ? kQuickRepeats : kRepeats;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    rounds.ours(
        bytes_per_second(repeats, (count + 1) * kLength, [&] { weighted_sum(out, inputs, weights); }) / 1e9);
    for (std::size_t i = 0; i < kLength; i += 997) {
      double expected = 0;
      for (const auto& vector : vectors)
        expected += static_cast<double>(vector[i]) / static_cast<double>(count);
      if (std::abs(static_cast<double>(out[i]) - expected) > 1e-5)
        throw RunError("bench mix: a weighted sum is wrong");
    }
    const auto pass = [&] { HWY_DYNAMIC_DISPATCH(triad)(a.data(), b.data(), c.data(), 0.5F, triad_length); };
    rounds.theirs(0, bytes_per_second(repeats, 3 * triad_length, pass) / 1e9);
  }
  return rounds.result(0, "weighted sum of " + std::to_string(count) + " vectors", "GB/s", "triad", 0.80);
}

}  // namespace

std::vector<BenchCase> bench_mix(const BenchOptions& options) {
  return {measure(3, options), measure(5, options)};
}

}  // namespace veche

#endif  // HWY_ONCE
