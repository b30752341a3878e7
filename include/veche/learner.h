#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/export.h"
#include "veche/outcome.h"

namespace veche {

// Position of one named tensor in the flat vector: element (i,j,..) is at offset + i*strides[0] +
// j*strides[1] + ... Names and shapes are PyTorch's. Strides may be channels-last.
struct TensorLayout {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::size_t offset = 0;
};

// Called when gradients()[from, to) of the current pass is final.
using GradientListener = std::function<void(std::size_t from, std::size_t to)>;

// A model as the rest of Veche sees it: a flat vector and its gradient.
//
// The spans keep their addresses for the learner's life. The owner of the learner may read and
// write them between calls, never during one. A learner is used by one thread at a time; different
// learners share nothing and may run on different threads. Two learners made from the same spec
// have the same parameters in the same order, and equal batches give equal bits.
class VECHE_API Learner {
 public:
  virtual ~Learner() = default;

  virtual std::span<float> parameters() = 0;
  virtual std::span<float> gradients() = 0;
  // State that belongs to the model but is not trained, such as batch-norm statistics. May be
  // empty.
  virtual std::span<float> buffers() = 0;

  // Overwrites gradients() with the gradient of the batch's mean loss. Returns the score of the
  // same pass.
  virtual Score compute_gradient(const Batch& batch) = 0;
  // Sets a listener that compute_gradient calls once for each part of the gradient as soon as that
  // part is final, in any order and on compute_gradient's thread. The listener may change that
  // part. An empty listener removes it. A learner without support ignores the call, so the caller
  // must handle all unreported parts after compute_gradient returns.
  virtual void on_gradient_ready(GradientListener /*listener*/) {}
  // Changes no state: no dropout; batch norm uses its stored statistics.
  virtual Score evaluate(const Batch& batch) = 0;
  // As evaluate; also writes the outcome of each classified sample, which the AUC and the measures
  // by class need. A learner that leaves them as they are is tested without these.
  virtual Score evaluate_each(const Batch& batch, std::span<Outcome> /*outcomes*/) { return evaluate(batch); }

  // Tells the learner that gradients() will not be read before the next pass overwrites them, and
  // that the pass may be far away. A learner may free their memory meanwhile. Afterwards
  // gradients() are either zero or unchanged.
  virtual void rest() {}

  // Names of the tensors in the two flat vectors, for checkpoints, export and comparison with other
  // programs.
  virtual std::vector<TensorLayout> parameter_layout() const = 0;
  virtual std::vector<TensorLayout> buffer_layout() const = 0;
};

}  // namespace veche
