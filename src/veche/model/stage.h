#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/errors.h"
#include "veche/learner.h"
#include "veche/message.h"
#include "veche/model_spec.h"

namespace veche {

// One block of a chain of layers and its cost. A model can be cut between two blocks.
struct BlockDescription {
  std::string name;                // "layer1.0"
  std::size_t parameters = 0;      // floats
  std::size_t buffers = 0;         // floats
  std::int64_t multiply_adds = 0;  // of convolutions and matrix products, forward, per sample
  std::size_t output = 0;          // bytes of output per sample
};

// A range of blocks of a model, and how it treats activations.
struct StageSpec {
  int from = 0;  // the first block
  int to = 0;    // one past the last block
  bool recompute =
      false;  // recompute: keep only the input and repeat the forward pass before the backward pass
};

// One micro-batch of a batch on its way through the stages.
struct MicroBatch {
  std::uint64_t step = 0;
  int index = 0;          // number of the micro-batch
  int count = 1;          // number of micro-batches
  std::size_t whole = 0;  // samples in the whole batch, whose mean loss defines the gradient
  double weight = 0;      // sum of the weights of the whole batch's targets; 0: all weigh 1
};

// The input of a stage: samples at the first stage, otherwise the message of the previous stage.
// The last stage also needs targets.
struct StageInput {
  Batch batch = {};  // targets only, except at the first stage
  Message activation = {};
};

// A message from another stage that does not contain what that stage sends. `what()` describes the
// message without its sender; Pipeline adds that.
class DamagedActivation : public RunError {
 public:
  using RunError::RunError;
};

// A stage of a pipeline: a learner over the flat vector of its own blocks. Its tensors have the
// same names and order as in the whole model. Messages carry the shape and type of their tensors.
// In a step, every micro-batch goes forward once and backward once, each in the order of the
// micro-batches, interleaved in any way. After the last backward pass, gradients() is the gradient
// of the batch's mean loss. Dropout depends only on seed, node, step, micro-batch and block, so it
// is the same for every cut. The passes throw DamagedActivation for a message of another stage that
// they cannot read.
class Stage : public Learner {
 public:
  virtual bool first() const = 0;
  virtual bool last() const = 0;

  // Returns the input of the next stage; empty at the last stage.
  virtual Message forward(const MicroBatch& part, const StageInput& input, MessagePool& pool) = 0;
  // Takes the gradient of forward's result (empty at the last stage) and returns the gradient of
  // its input (empty at the first stage).
  virtual Message backward(const MicroBatch& part, const Message& gradient, MessagePool& pool) = 0;
  // The score of the micro-batches that went forward since the last call; empty except at the last
  // stage.
  virtual Score take_score() = 0;

  // Evaluates without changing state: no dropout; batch norm uses its stored statistics. The last
  // stage adds to `score`, writes the outcome of every sample if there is room for them, and
  // returns an empty message.
  virtual Message test(const StageInput& input, MessagePool& pool, Score& score,
                       std::span<Outcome> outcomes) = 0;

  // Peak memory held by passes; 0 if not measured.
  virtual std::size_t most_bytes_held() const { return 0; }
};

}  // namespace veche
