#pragma once

#include <cstdint>
#include <span>

namespace veche {

// Sets whose samples cost less than the virtual calls for each of them: they are read a batch at a
// time. A set that is one derives publicly from this class and from Dataset.
class BulkSamples {
 public:
  // Where samples go, one after the other. Null: not wanted.
  struct Room {
    float* inputs = nullptr;         // shape().size() each
    std::int64_t* labels = nullptr;  // classification
    float* values = nullptr;         // regression
  };
  virtual ~BulkSamples() = default;
  // The same as Dataset::read, Dataset::label and ValueTargets::value. Any thread.
  virtual void read_many(std::span<const std::uint32_t> samples, const Room& room) const = 0;
};

}  // namespace veche
