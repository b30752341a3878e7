#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/learner.h"
#include "veche/message.h"
#include "veche/model_spec.h"

namespace veche {

// What one link of a chain of layers is and costs: where a model can be cut is between two of them.
struct BlockDescription {
  std::string name;                // "layer1.0"
  std::size_t parameters = 0;      // floats
  std::size_t buffers = 0;         // floats
  std::int64_t multiply_adds = 0;  // of convolutions and matrix products, for one sample forward
  std::size_t output = 0;          // bytes that one sample makes of it
};

// Some neighbouring blocks of a model, and what they keep of a forward pass.
struct StageSpec {
  int from = 0;  // the first block
  int to = 0;    // the one behind the last
  bool recompute =
      false;  // keeps only what came in, and makes the forward pass again before the backward one
};

// One part of a batch on its way through the stages.
struct MicroBatch {
  std::uint64_t step = 0;
  int index = 0;          // the number of the part
  int count = 1;          // of parts
  std::size_t whole = 0;  // samples of all parts: what a part adds to the gradient is a share of their mean
};

// What a stage is given: images where it is the first, what the one before has sent elsewhere; at the last
// one labels too.
struct StageInput {
  Batch batch = {};  // only the labels where it is not the first
  Message activation = {};
};

// A stage of a cut model: a learner over the flat vector of its own blocks, whose tensors have the names they
// have in the whole model and lie in the same order. Messages hold shape and type of what they carry. Passes
// of a step: every part forward once, in the order of the parts, and then backward once, in the same order,
// in any mixture of the two; gradients() is that of the batch's mean loss when the last has come back.
// Dropout is a function of seed, node, step, part and block, so that it is the same for every cut.
class Stage : public Learner {
 public:
  virtual bool first() const = 0;
  virtual bool last() const = 0;

  // What the next stage needs; nothing at the last one.
  virtual Message forward(const MicroBatch& part, const StageInput& input, MessagePool& pool) = 0;
  // Takes the gradient of what `forward` has returned, nothing at the last one; returns that of what it was
  // given, nothing at the first one.
  virtual Message backward(const MicroBatch& part, const Message& gradient, MessagePool& pool) = 0;
  // Of the parts that went forward since it was asked; empty but at the last stage.
  virtual Score take_score() = 0;

  // Changes nothing: no dropout, stored statistics. The last one scores and returns nothing.
  virtual Message test(const StageInput& input, MessagePool& pool, Score& score) = 0;

  // The most memory that passes have held at once; 0 where nobody counts.
  virtual std::size_t most_bytes_held() const { return 0; }
};

}  // namespace veche
