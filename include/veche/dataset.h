#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/export.h"

namespace veche {

// Labelled samples that can be read in any order. Immutable; any thread may read. What `read` throws ends the
// run.
class VECHE_API Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::size_t size() const = 0;
  virtual Shape shape() const = 0;
  virtual int classes() const = 0;
  virtual std::int64_t label(std::size_t index) const = 0;
  // Writes one sample as a learner sees it, channels last; `out` has shape().size() floats.
  virtual void read(std::size_t index, std::span<float> out) const = 0;
};

}  // namespace veche
