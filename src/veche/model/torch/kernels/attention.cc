#include "veche/model/torch/kernels/attention.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/model/torch/kernels/attention.cc"
#include "veche/base/machine/each_target.h"
//
#include <hwy/contrib/math/math-inl.h>

#include "veche/model/torch/kernels/multiply-inl.h"

#ifndef VECHE_ATTENTION_ONCE
#define VECHE_ATTENTION_ONCE
namespace veche::torch_model {
namespace {

constexpr std::int64_t kQueries = 16;  // at a time
constexpr std::int64_t kPad = 16;      // floats of the widest vector

constexpr std::int64_t padded(std::int64_t count) { return (count + kPad - 1) / kPad * kPad; }

// One head of one sequence, copied together so that its rows are adjacent, with zeros up to a whole
// vector.
struct HeadRoom {
  HeadRoom(const AttentionSize& size, float* work) : length(padded(size.length)), width(padded(size.width)) {
    const std::int64_t each = length * width;
    for (float** part : {&q, &k, &v, &keys, &values, &dout, &dk, &dv}) {
      *part = work;
      work += each;
    }
    scores = work;
    dscores = scores + kQueries * length;
    strip = dscores + kQueries * length;
  }
  static std::size_t floats(const AttentionSize& size) {
    const std::int64_t length = padded(size.length), width = padded(size.width);
    return static_cast<std::size_t>(8 * length * width + 2 * kQueries * length + kQueries * width);
  }

  const std::int64_t length, width;
  float *q, *k, *v, *dout, *dk, *dv;  // [position][element]; q is scaled
  float *keys, *values;               // [element][position]
  float *scores, *dscores;            // [query][position]
  float* strip;                       // [query][element]
};

}  // namespace
}  // namespace veche::torch_model
#endif

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DU = hn::RebindToUnsigned<D>;
constexpr std::int64_t kLanes = hn::MaxLanes(D());

// Copies rows of a head that are `row` apart, times `scale`.
HWY_INLINE void gather_rows(const float* from, std::int64_t row, std::int64_t rows, std::int64_t width,
                            std::int64_t padded_width, float scale, float* to) {
  for (std::int64_t i = 0; i < rows; ++i, from += row, to += padded_width) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = from[c] * scale;
    for (std::int64_t c = width; c < padded_width; ++c) to[c] = 0;
  }
}

HWY_INLINE void turn(const float* from, std::int64_t rows, std::int64_t width, std::int64_t to_row,
                     float* to) {
  constexpr std::int64_t kTogether = 16;  // rows of a block: one line of the cache of the result
  for (std::int64_t first = 0; first < rows; first += kTogether) {
    const std::int64_t last = std::min(rows, first + kTogether);
    for (std::int64_t c = 0; c < width; ++c)
      for (std::int64_t i = first; i < last; ++i) to[c * to_row + i] = from[i * width + c];
  }
}

// Keeps a score or zeroes it, and scales what is kept. One stream per row of scores.
struct Dropper {
  Dropper(const AttentionDropout& dropout, std::int64_t row) {
    if (dropout.probability <= 0) return;
    on = true;
    limit = static_cast<std::uint32_t>(dropout.probability * 4294967296.0);
    kept = static_cast<float>(1 / (1 - dropout.probability));
    std::uint64_t mixed = dropout.seed + static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    start = static_cast<std::uint32_t>(mixed >> 32);
  }
  // The factors of positions [at, at + lanes): 32 mixed bits each, compared with the probability.
  HWY_INLINE V factors(std::int64_t at) const {
    const DU du;
    auto x = hn::Iota(du, start + static_cast<std::uint32_t>(at));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, 0x7FEB352DU));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, 0x846CA68BU));
    x = hn::Xor(x, hn::ShiftRight<16>(x));
    const auto keeps = hn::Not(hn::Lt(x, hn::Set(du, limit)));
    return hn::IfThenElseZero(hn::RebindMask(D(), keeps), hn::Set(D(), kept));
  }
  bool on = false;
  std::uint32_t limit = 0, start = 0;
  float kept = 1;
};

HWY_INLINE V load_seen(const float* row, std::int64_t j, std::int64_t seen, V otherwise) {
  const V v = hn::LoadU(D(), row + j);
  return j + kLanes <= seen
             ? v
             : hn::IfThenElse(hn::FirstN(D(), static_cast<std::size_t>(seen - j)), v, otherwise);
}

// Replaces the first `seen` scores of a row by their exponentials, those up to `end` by zero, and
// returns the logarithm of the sum. The row is not divided by the sum, which is in `sum`.
HWY_INLINE float exponentials(float* row, std::int64_t seen, std::int64_t end, float& sum) {
  const V lowest = hn::Set(D(), -INFINITY);
  V most = lowest;
  for (std::int64_t j = 0; j < seen; j += kLanes) most = hn::Max(most, load_seen(row, j, seen, lowest));
  const V top = hn::MaxOfLanes(D(), most);
  V total = hn::Zero(D());
  for (std::int64_t j = 0; j < seen; j += kLanes) {
    V e = hn::Exp(D(), hn::Sub(hn::LoadU(D(), row + j), top));
    if (j + kLanes > seen) e = hn::IfThenElseZero(hn::FirstN(D(), static_cast<std::size_t>(seen - j)), e);
    hn::StoreU(e, D(), row + j);
    total = hn::Add(total, e);
  }
  for (std::int64_t j = (seen + kLanes - 1) / kLanes * kLanes; j < end; ++j) row[j] = 0;
  sum = hn::GetLane(hn::SumOfLanes(D(), total));
  return hn::GetLane(top) + std::log(sum);
}

// Results of one pair of a sequence and a head begin at these places.
struct Places {
  Places(const AttentionSize& size, std::int64_t pair)
      : qkv(pair / size.heads * size.length * 3 * size.row() + pair % size.heads * size.width),
        out(pair / size.heads * size.length * size.row() + pair % size.heads * size.width),
        sums(pair * size.length) {}
  const std::int64_t qkv, out, sums;
};

void forward_pair(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv, float* out,
                  float* log_sums, std::int64_t pair, const HeadRoom& room) {
  const Places at(size, pair);
  const std::int64_t in_row = 3 * size.row(), out_row = size.row();
  const float scale = 1 / std::sqrt(static_cast<float>(size.width));
  gather_rows(qkv + at.qkv, in_row, size.length, size.width, room.width, scale, room.q);
  gather_rows(qkv + at.qkv + size.row(), in_row, size.length, size.width, room.width, 1, room.k);
  gather_rows(qkv + at.qkv + 2 * size.row(), in_row, size.length, size.width, room.width, 1, room.v);
  turn(room.k, size.length, room.width, room.length, room.keys);
  for (std::int64_t first = 0; first < size.length; first += kQueries) {
    const std::int64_t queries = std::min(kQueries, size.length - first), last = first + queries;
    multiply({room.q + first * room.width, room.width, 1}, room.keys, room.length, queries, size.width,
             padded(last), false, room.scores, room.length);
    float sums[kQueries];
    for (std::int64_t i = 0; i < queries; ++i) {
      float* const row = room.scores + i * room.length;
      log_sums[at.sums + first + i] = exponentials(row, first + i + 1, last, sums[i]);
      const Dropper drop(dropout, at.sums + first + i);
      if (drop.on)
        for (std::int64_t j = 0; j < last; j += kLanes)
          hn::StoreU(hn::Mul(hn::LoadU(D(), row + j), drop.factors(j)), D(), row + j);
    }
    multiply({room.scores, room.length, 1}, room.v, room.width, queries, last, room.width, false, room.strip,
             room.width);
    for (std::int64_t i = 0; i < queries; ++i) {
      const float share = 1 / sums[i];
      float* const to = out + at.out + (first + i) * out_row;
      for (std::int64_t c = 0; c < size.width; ++c) to[c] = room.strip[i * room.width + c] * share;
    }
  }
}

// From scores and from the gradients of the dropped probabilities: the dropped probabilities and
// the gradients of the scores. `dot` is the sum over the row of probability times gradient.
HWY_INLINE void softmax_gradients(float* scores, float* dscores, std::int64_t seen, std::int64_t end,
                                  float log_sum, float dot, const Dropper& drop) {
  const V sum = hn::Set(D(), log_sum), less = hn::Set(D(), dot);
  for (std::int64_t j = 0; j < seen; j += kLanes) {
    V p = hn::Exp(D(), hn::Sub(hn::LoadU(D(), scores + j), sum));
    if (j + kLanes > seen) p = hn::IfThenElseZero(hn::FirstN(D(), static_cast<std::size_t>(seen - j)), p);
    V dp = hn::LoadU(D(), dscores + j);
    if (drop.on) {
      const V factor = drop.factors(j);
      dp = hn::Mul(dp, factor);
      hn::StoreU(hn::Mul(p, factor), D(), scores + j);
    } else {
      hn::StoreU(p, D(), scores + j);
    }
    hn::StoreU(hn::Mul(p, hn::Sub(dp, less)), D(), dscores + j);
  }
  for (std::int64_t j = (seen + kLanes - 1) / kLanes * kLanes; j < end; ++j) scores[j] = dscores[j] = 0;
}

void backward_pair(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                   const float* out, const float* log_sums, const float* dout, float* dqkv, std::int64_t pair,
                   const HeadRoom& room) {
  const Places at(size, pair);
  const std::int64_t in_row = 3 * size.row(), out_row = size.row();
  const float scale = 1 / std::sqrt(static_cast<float>(size.width));
  gather_rows(qkv + at.qkv, in_row, size.length, size.width, room.width, scale, room.q);
  gather_rows(qkv + at.qkv + size.row(), in_row, size.length, size.width, room.width, 1, room.k);
  gather_rows(qkv + at.qkv + 2 * size.row(), in_row, size.length, size.width, room.width, 1, room.v);
  gather_rows(dout + at.out, out_row, size.length, size.width, room.width, 1, room.dout);
  turn(room.k, size.length, room.width, room.length, room.keys);
  turn(room.v, size.length, room.width, room.length, room.values);
  std::fill_n(room.dk, room.length * room.width, 0.0F);
  std::fill_n(room.dv, room.length * room.width, 0.0F);
  for (std::int64_t first = 0; first < size.length; first += kQueries) {
    const std::int64_t queries = std::min(kQueries, size.length - first), last = first + queries;
    const float* const q = room.q + first * room.width;
    const float* const go = room.dout + first * room.width;
    multiply({q, room.width, 1}, room.keys, room.length, queries, size.width, padded(last), false,
             room.scores, room.length);
    multiply({go, room.width, 1}, room.values, room.length, queries, size.width, padded(last), false,
             room.dscores, room.length);
    for (std::int64_t i = 0; i < queries; ++i) {
      const float* const result = out + at.out + (first + i) * out_row;
      float dot = 0;
      for (std::int64_t c = 0; c < size.width; ++c) dot += result[c] * go[i * room.width + c];
      softmax_gradients(room.scores + i * room.length, room.dscores + i * room.length, first + i + 1, last,
                        log_sums[at.sums + first + i], dot, Dropper(dropout, at.sums + first + i));
    }
    multiply({room.scores, 1, room.length}, go, room.width, last, queries, room.width, true, room.dv,
             room.width);
    multiply({room.dscores, 1, room.length}, q, room.width, last, queries, room.width, true, room.dk,
             room.width);
    multiply({room.dscores, room.length, 1}, room.k, room.width, queries, last, room.width, false, room.strip,
             room.width);
    for (std::int64_t i = 0; i < queries; ++i) {
      float* const to = dqkv + at.qkv + (first + i) * in_row;
      for (std::int64_t c = 0; c < size.width; ++c) to[c] = room.strip[i * room.width + c] * scale;
    }
  }
  for (std::int64_t i = 0; i < size.length; ++i) {
    float* const to = dqkv + at.qkv + i * in_row;
    for (std::int64_t c = 0; c < size.width; ++c) to[size.row() + c] = room.dk[i * room.width + c];
    for (std::int64_t c = 0; c < size.width; ++c) to[2 * size.row() + c] = room.dv[i * room.width + c];
  }
}

void all_forward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv, float* out,
                 float* log_sums, std::int64_t from, std::int64_t to, float* work) {
  const HeadRoom room(size, work);
  for (std::int64_t pair = from; pair < to; ++pair)
    forward_pair(size, dropout, qkv, out, log_sums, pair, room);
}

void all_backward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                  const float* out, const float* log_sums, const float* dout, float* dqkv, std::int64_t from,
                  std::int64_t to, float* work) {
  const HeadRoom room(size, work);
  for (std::int64_t pair = from; pair < to; ++pair)
    backward_pair(size, dropout, qkv, out, log_sums, dout, dqkv, pair, room);
}

void one_step(std::int64_t heads, std::int64_t width, const AttentionCache& cache, std::int64_t at,
              const float* qkv, float* out, float* work) {
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  float* const scores = work;
  float* const result = work + cache.room;
  for (std::int64_t h = 0; h < heads; ++h) {
    const float* const q = qkv + h * width;
    float* const keys = cache.keys + h * width * cache.room;
    float* const values = cache.values + h * cache.room * cache.value_row;
    for (std::int64_t c = 0; c < width; ++c) {
      keys[c * cache.room + at] = q[heads * width + c] * scale;
      values[at * cache.value_row + c] = q[2 * heads * width + c];
    }
    multiply({q, 0, 1}, keys, cache.room, 1, width, padded(at + 1), false, scores, 0);
    float sum = 0;
    exponentials(scores, at + 1, at + 1, sum);
    multiply({scores, 0, 1}, values, cache.value_row, 1, at + 1, cache.value_row, false, result, 0);
    for (std::int64_t c = 0; c < width; ++c) out[h * width + c] = result[c] / sum;
  }
}

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche::torch_model {
namespace {

HWY_EXPORT(all_forward);
HWY_EXPORT(all_backward);
HWY_EXPORT(one_step);

}  // namespace

std::size_t attention_work(const AttentionSize& size) { return HeadRoom::floats(size); }

void attention_forward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                       float* out, float* log_sums, std::int64_t from, std::int64_t to, float* work) {
  HWY_DYNAMIC_DISPATCH(all_forward)(size, dropout, qkv, out, log_sums, from, to, work);
}

void attention_backward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                        const float* out, const float* log_sums, const float* dout, float* dqkv,
                        std::int64_t from, std::int64_t to, float* work) {
  HWY_DYNAMIC_DISPATCH(all_backward)(size, dropout, qkv, out, log_sums, dout, dqkv, from, to, work);
}

void attention_step(std::int64_t heads, std::int64_t width, const AttentionCache& cache, std::int64_t at,
                    const float* qkv, float* out, float* work) {
  HWY_DYNAMIC_DISPATCH(one_step)(heads, width, cache, at, qkv, out, work);
}

}  // namespace veche::torch_model

#endif  // HWY_ONCE
