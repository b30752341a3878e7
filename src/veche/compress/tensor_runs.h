#pragma once

#include <vector>

#include "veche/compress/codec.h"

namespace veche {

// Floats [from, from + length) of a stream.
struct TensorRun {
  std::size_t from = 0;
  std::size_t length = 0;
  int tensor = -1;  // index of the tensor in StreamShape; -1: between tensors
};

std::size_t floats_of(const TensorLayout& tensor);

// A stream's tensors and the gaps between them, in order; together they cover the stream. The
// floats of a tensor are contiguous, in some order of its indices.
std::vector<TensorRun> tensor_runs(const StreamShape& shape);

// The floats of tensors with fewer than shape.small floats; adjacent ones form one run.
std::vector<TensorRun> small_runs(const StreamShape& shape);

std::size_t total_length(const std::vector<TensorRun>& runs);
// Copies the runs one after the other to `out`, and back.
void gather(const std::vector<TensorRun>& runs, std::span<const float> x, float* out);
void add_gathered(const std::vector<TensorRun>& runs, const float* gathered, float weight,
                  std::span<float> into);
void fill(const std::vector<TensorRun>& runs, float value, std::span<float> x);

}  // namespace veche
