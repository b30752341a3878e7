#pragma once

#include <cstddef>
#include <functional>

#include "veche/batch.h"

namespace veche::torch_model {

// Sums the scores of [0, samples) in chunks; the last chunk may be smaller. Up to `threads`
// threads, including the caller's, score the chunks. The scores are added in order, so the sum does
// not depend on the threads. Rethrows the exception of the first chunk that failed.
Score score_in_chunks(std::size_t samples, std::size_t chunk, int threads,
                      const std::function<Score(std::size_t from, std::size_t to)>& score);

// Number of samples per chunk: few enough that activations stay in a core's caches, enough that
// reading the weights pays off, and equal chunks if possible.
std::size_t samples_per_chunk(const Shape& shape, Task task, std::size_t samples);

}  // namespace veche::torch_model
