#pragma once

#include <span>
#include <vector>

#include "veche/learner.h"

namespace veche {

std::size_t size_of(const TensorLayout& tensor);

// Copies one tensor of a flat vector to row-major order, and back.
std::vector<float> gather(const TensorLayout& tensor, std::span<const float> flat);
void scatter(const TensorLayout& tensor, std::span<const float> ordered, std::span<float> flat);

}  // namespace veche
