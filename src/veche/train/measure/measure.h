#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "veche/collectives.h"
#include "veche/dataset.h"
#include "veche/learner.h"
#include "veche/report.h"
#include "veche/train/measure/class_scores.h"

namespace veche {

// Collective measurements. Sums are taken in a fixed order, so that equal runs measure equal
// numbers.

// The mean of the nodes' vectors except the first `idle` nodes, as floats. All nodes get the same
// bits, those of ModelAverage (veche/vector_math.h), which exports use too. Threads of a process
// share one copy. Other nodes may read `mine` until this returns; if it throws, until the run ends.
Message mean_over_nodes(Channel& channel, std::span<const float> mine, std::size_t idle = 0);

// Computes seconds, targets per second and cv from the nodes' reports; the first `idle` nodes do
// not count in cv.
void sum_up(Evaluation& evaluation, double squared_norm_of_mean, std::size_t idle = 0);

// A model that a learner uses for a while instead of its own.
struct LentModel {
  std::span<const float> parameters, buffers;
};

// Gives a learner another model for the lifetime of this object, then its own back. Make it only
// while the node holds a compute slot: a thousand waiting nodes would need twice their memory.
class Lending {
 public:
  Lending(Learner& learner, const LentModel& model);
  ~Lending();
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

 private:
  Learner& learner_;
  const std::vector<float> parameters_, buffers_;
};

using Tested = std::function<void(std::size_t samples)>;  // hears how many more samples were tested

// The result of a test before its first sample.
TestResult untested(const Dataset& data);
// Tests a batch. `classes` may be null; otherwise it gets the outcomes, if it collects any.
Score evaluate_batch(Learner& learner, const Batch& batch, ClassScores* classes);
// The test score of the samples [from, to), with the learner's own model or another one. `tested`
// may be empty, `classes` null.
Score evaluate_range(Endpoint& endpoint, Learner& learner, const Dataset& data, std::size_t from,
                     std::size_t to, const Tested& tested = {}, const LentModel* model = nullptr,
                     ClassScores* classes = nullptr);
// Collective: the result of a test whose samples were divided among the nodes.
TestResult joined_result(Channel& channel, const Dataset& data, const Score& mine, ClassScores classes);
// The result of a test of one process.
TestResult result_of(const Dataset& data, const Score& score, ClassScores classes);

// The test result of the averaged model. Each node tests a slice of the test set with the mean in
// its learner.
TestResult evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                         std::size_t idle = 0, const Tested& tested = {});
// The slice of a node.
struct TestSlice {
  std::size_t from = 0, to = 0;
  std::size_t size() const { return to - from; }
};
TestSlice test_slice(NodeId node, int nodes, std::size_t samples);

// The items of all nodes, by node, of a plain type. Threads of a process share one copy. Throws
// BadMessage when a node sends an item of another size.
Message gather_bytes(Channel& channel, std::span<const std::byte> mine);
template <class T>
class Gathered {
 public:
  Gathered(Channel& channel, const T& mine)
      : message_(gather_bytes(channel, std::as_bytes(std::span(&mine, 1)))) {
    static_assert(std::is_trivially_copyable_v<T>);
  }
  std::span<const T> all() const { return message_.as<T>(); }

 private:
  const Message message_;
};

}  // namespace veche
