#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/export.h"

namespace veche {

// Where one named tensor lies in the flat vector: element (i,j,..) is at offset + i*strides[0] + j*strides[1]
// .. Names and shapes are PyTorch's; strides may be channels-last.
struct TensorLayout {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::size_t offset = 0;
};

// Hears that gradients()[from, to) of the pass under way is final.
using GradientListener = std::function<void(std::size_t from, std::size_t to)>;

// A model as the rest of Veche sees it: a flat vector and its gradient. The spans stay in place for the
// learner's life; whoever holds the learner may read and write them between calls, never during one.
// One thread at a time; different learners run on different threads without sharing anything. Two learners
// made from the same spec have the same parameters in the same order, and the same batches give the same
// bits.
class VECHE_API Learner {
 public:
  virtual ~Learner() = default;

  virtual std::span<float> parameters() = 0;
  virtual std::span<float> gradients() = 0;
  // State that is not trained but belongs to the model, such as batch-norm statistics. May be empty.
  virtual std::span<float> buffers() = 0;

  // Overwrites gradients() with the gradient of the batch's mean loss; the score is from the same pass.
  virtual Score compute_gradient(const Batch& batch) = 0;
  // From now on compute_gradient tells `listener` of each part of the gradient as soon as it is final, in any
  // order, once, in its own thread; the listener may then change that part. An empty one ends it. A learner
  // that cannot tell does nothing: whoever listens sees to what it was not told of when compute_gradient has
  // returned.
  virtual void on_gradient_ready(GradientListener /*listener*/) {}
  // Changes nothing: no dropout, stored statistics.
  virtual Score evaluate(const Batch& batch) = 0;

  // Nobody reads gradients() before the next pass overwrites them, and that may be a while: a learner among
  // very many may give their memory back. They are then zero, or what they were.
  virtual void rest() {}

  // The names inside the two flat vectors, for checkpoints, export and comparison with other programs.
  virtual std::vector<TensorLayout> parameter_layout() const = 0;
  virtual std::vector<TensorLayout> buffer_layout() const = 0;
};

}  // namespace veche
