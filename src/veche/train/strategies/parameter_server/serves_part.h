#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace veche {

// A strategy in step whose nodes may make the steps of a part of the model for all, with an optimiser of
// their own.
class ServesPart {
 public:
  struct Part {
    std::size_t from = 0;                   // where it begins in the vector
    std::vector<std::span<float>> moments;  // the optimiser's state; none where this node serves nothing
  };
  virtual ~ServesPart() = default;
  virtual Part served_part() = 0;
};

}  // namespace veche
