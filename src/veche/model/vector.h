#pragma once

#include <memory>

#include "veche/model/zoo.h"

namespace veche {

// `model.length` floats that learn nothing, to measure communication alone on any engine. The
// gradient is zero, and the parameters keep their initial values: all one, or drawn by each node
// with model.start = "different". Batches are ignored. Throws RequestError without a length, or if
// memory is insufficient.
std::unique_ptr<Learner> make_vector(const ModelSpec& spec);

}  // namespace veche
