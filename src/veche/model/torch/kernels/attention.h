#pragma once

#include <cstddef>
#include <cstdint>

namespace veche::torch_model {

// Causal self-attention of sequences: position i sees positions 0 to i. A row of `qkv` holds the
// queries of all heads, then their keys, then their values; a row of a result holds all heads. Rows
// are sequence by sequence. The scores are computed for a few queries at a time and never stored as
// a whole.
struct AttentionSize {
  std::int64_t sequences = 0;
  std::int64_t length = 0;  // positions of a sequence
  std::int64_t heads = 0;
  std::int64_t width = 0;  // of a head

  std::int64_t pairs() const { return sequences * heads; }
  std::int64_t row() const { return heads * width; }
};

// Drops scores after the softmax. Which ones depends on the seed and on the score's place only.
struct AttentionDropout {
  double probability = 0;
  std::uint64_t seed = 0;
};

// Workspace in floats, of one thread.
std::size_t attention_work(const AttentionSize& size);

// Both compute the pairs [from, to) of a sequence and a head, counted sequence by sequence.
// `log_sums` has a value per pair and position: the logarithm of the softmax's denominator, which
// the backward pass needs.
void attention_forward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                       float* out, float* log_sums, std::int64_t from, std::int64_t to, float* work);
void attention_backward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                        const float* out, const float* log_sums, const float* dout, float* dqkv,
                        std::int64_t from, std::int64_t to, float* work);

// The keys and values that one layer has computed for the positions of one sequence.
struct AttentionCache {
  float* keys;             // [head][element][position], of `room` positions
  float* values;           // [head][position][element], of `value_row` elements
  std::int64_t room;       // a multiple of 16
  std::int64_t value_row;  // at least the width of a head, a multiple of 16
};

// Puts position `at` into the cache and computes its result; positions before it are in the cache.
// `qkv` and `out` are one row. `work`: room + value_row floats.
void attention_step(std::int64_t heads, std::int64_t width, const AttentionCache& cache, std::int64_t at,
                    const float* qkv, float* out, float* work);

}  // namespace veche::torch_model
