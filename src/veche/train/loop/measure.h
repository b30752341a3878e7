#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "veche/collectives.h"
#include "veche/dataset.h"
#include "veche/learner.h"
#include "veche/report.h"

namespace veche {

// Measurements in which all nodes take part, over the endpoint, in a fixed order: equal runs measure equal
// numbers.

// The mean of the nodes' vectors but for the first `idle`, floats, the same bits on all nodes: those of
// ModelAverage (veche/vector_math.h), which also exports use. Threads of a process share one copy. Others
// read `mine` in place until it returns; where it throws, until the run ends.
Message mean_over_nodes(Channel& channel, std::span<const float> mine, std::size_t idle = 0);

// Seconds, images/s and cv from the nodes' reports; the first `idle` nodes do not count in cv.
void sum_up(Evaluation& evaluation, double squared_norm_of_mean, std::size_t idle = 0);

// Another model for a learner, as long as it computes.
struct LentModel {
  std::span<const float> parameters, buffers;
};

// Gives a learner that model while it lives, and then its own back. Only while a place to compute is held: a
// thousand nodes that wait for one would need their memory twice.
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

using Tested = std::function<void(std::size_t samples)>;  // so many more

// The test score of these samples of the set, with the learner's own model or another. `tested`, which may be
// empty, hears of them as they are done.
Score evaluate_range(Endpoint& endpoint, Learner& learner, const Dataset& data, std::size_t from,
                     std::size_t to, const Tested& tested = {}, const LentModel* model = nullptr);

// The test score of the averaged model: each node scores a slice of the test set with the mean in its
// learner.
Score evaluate_mean(Channel& channel, Learner& learner, std::span<const float> mean, const Dataset& data,
                    std::size_t idle = 0, const Tested& tested = {});
// The test samples that a node scores there, of all.
struct TestSlice {
  std::size_t from = 0, to = 0;
  std::size_t size() const { return to - from; }
};
TestSlice test_slice(NodeId node, int nodes, std::size_t samples);

// Everybody's item of a plain type, by node. Threads of a process share one copy.
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
