#pragma once

#include <memory>

#include "veche/model/zoo.h"

namespace veche {

// `model.length` floats that learn nothing: the gradient is zero everywhere and the parameters stay what they
// are at the start, all one, or drawn by each node with model.start = "different". To measure what nodes send
// each other, alone, on any engine. Batches are ignored. Throws RequestError without a length, or where there
// is no memory for it.
std::unique_ptr<Learner> make_vector(const ModelSpec& spec);

}  // namespace veche
