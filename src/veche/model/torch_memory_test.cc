// A separate program, because peak memory is measured per process.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "veche/model/zoo.h"
#include "veche/random.h"

namespace veche {
namespace {

double peak_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kibibytes = 0;
      status >> kibibytes;
      return kibibytes / 1024;
    }
  return 0;
}

// An idle node holds only its vectors; only the few that compute hold activations.
TEST(TorchMemory, ManyLearnersFewAtATime) {
  constexpr std::size_t kLearners = 36;
  constexpr std::size_t kBatch = 6;
  constexpr int kRounds = 3;
  ModelSpec spec;
  spec.name = "resnet20";
  spec.input = {3, 32, 32};
  spec.nodes = kLearners;
  std::vector<std::unique_ptr<Learner>> learners;
  for (std::size_t i = 0; i < kLearners; ++i) {
    spec.node = NodeId{static_cast<int>(i)};
    learners.push_back(make_learner(spec));
  }
  std::vector<float> images(kBatch * spec.input.size());
  RandomStream stream(1, "memory");
  for (float& pixel : images) pixel = static_cast<float>(stream.normal());
  const std::vector<std::int64_t> labels(kBatch, 3);
  const Batch batch{images, labels, spec.input, 0};

  const double before = peak_mebibytes();
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < kLearners; i = next++) learners[i]->compute_gradient(batch);
    };
    const std::jthread one(work), other(work);
  }
  EXPECT_LT(peak_mebibytes(), 1024);  // half of the documented limit
  EXPECT_LT(peak_mebibytes() - before, 256);
}

double resident_mebibytes() {
  std::ifstream pages("/proc/self/statm");
  double all = 0, resident = 0;
  pages >> all >> resident;
  return resident * 4096 / (1024 * 1024);
}

TEST(TorchMemory, WhoRestsGivesBackItsGradient) {
  ModelSpec spec;
  spec.name = "wrn-16-8";  // 11 million parameters, 42 MiB
  spec.input = {3, 32, 32};
  const auto learner = make_learner(spec);
  std::ranges::fill(learner->gradients(), 1.0F);
  const double before = resident_mebibytes();
  learner->rest();
  EXPECT_LT(resident_mebibytes(), before - 40);
  EXPECT_EQ(learner->gradients()[learner->gradients().size() / 2], 0.0F);
}

}  // namespace
}  // namespace veche
