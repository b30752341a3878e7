#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/export.h"

namespace veche {

// Labelled samples with random access. Immutable; any thread may read. An exception from `read`
// ends the run.
class VECHE_API Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::size_t size() const = 0;
  virtual Shape shape() const = 0;
  virtual int classes() const = 0;
  virtual std::int64_t label(std::size_t index) const = 0;
  // Writes one sample in the learner's layout, channels last. `out` has shape().size() floats.
  virtual void read(std::size_t index, std::span<float> out) const = 0;
};

}  // namespace veche
