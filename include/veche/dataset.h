#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/export.h"

namespace veche {

// Samples of text. The targets of a window are its tokens but the first.
class VECHE_API TokenSamples {
 public:
  virtual ~TokenSamples() = default;
  // Writes the window of a sample: Dataset::shape().size() + 1 token ids below Dataset::classes().
  virtual void read_tokens(std::size_t index, std::span<std::int32_t> out) const = 0;
  // The same for training: sets that can may move the window by the fraction `by`, from 0 to below
  // 1, of its length, so that every epoch divides the text at other places.
  virtual void read_moved(std::size_t index, double by, std::span<std::int32_t> out) const {
    static_cast<void>(by);
    read_tokens(index, out);
  }
  // Characters of the text per token, on average: bits per character follow from it.
  virtual double characters_per_token() const { return 1; }
};

// Targets that are numbers.
class VECHE_API ValueTargets {
 public:
  virtual ~ValueTargets() = default;
  virtual float value(std::size_t index) const = 0;
  // Of the training targets: models learn (value - mean) / deviation. Measures and predictions are
  // in the units of `value`.
  virtual double mean() const { return 0; }
  virtual double deviation() const { return 1; }
};

// Weights of targets in the mean loss, such as larger ones for rare classes; 0 masks a target.
class VECHE_API TargetWeights {
 public:
  virtual ~TargetWeights() = default;
  // Writes the weight of every target of a sample: of one, or of shape().size() tokens of a text.
  virtual void read_weights(std::size_t index, std::span<float> out) const = 0;
};

// Samples with targets and random access. Immutable; any thread may read. An exception from `read`
// ends the run.
class VECHE_API Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::size_t size() const = 0;
  virtual Shape shape() const = 0;
  // Number of classes; of text, of symbols in the vocabulary. 0 where targets are numbers.
  virtual int classes() const = 0;
  // The class of a sample; 0 where targets are not classes.
  virtual std::int64_t label(std::size_t index) const = 0;
  // Writes one sample in the learner's layout, channels last. `out` has shape().size() floats. Not
  // called for text.
  virtual void read(std::size_t index, std::span<float> out) const = 0;

  // Not null: the samples are text (Task::language).
  virtual const TokenSamples* tokens() const { return nullptr; }
  // Not null: the targets are numbers (Task::regression).
  virtual const ValueTargets* values() const { return nullptr; }
  // Not null: targets have weights, in training and in tests.
  virtual const TargetWeights* weights() const { return nullptr; }

  Task task() const {
    if (tokens() != nullptr) return Task::language;
    return values() != nullptr ? Task::regression : Task::classification;
  }
  std::size_t targets_per_sample() const { return tokens() != nullptr ? shape().size() : 1; }
};

}  // namespace veche
