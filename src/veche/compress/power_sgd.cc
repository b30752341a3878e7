// PowerSGD (Vogels et al. 2019): a matrix M is sent as P Q' with P = M Q orthonormalised and Q = M'
// P, starting from the previous round's Q.
#include <algorithm>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/kernels/kernels.h"
#include "veche/compress/matrices.h"
#include "veche/compress/summed_codecs.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Code of one vector: the uncompressed part, then all P, then all Q.
class PowerSgdCodec final : public Codec {
 public:
  PowerSgdCodec(int rank, const StreamShape& shape) : parts_(shape, rank), seed_(shape.seed) {}

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    start_.resize(parts_.q_floats);
    CodeWriter code(pool, most_bytes());
    gather(parts_.rest, x, code.room<float>(parts_.rest_floats));
    float* const ps = code.room<float>(parts_.p_floats);
    float* const qs = code.room<float>(parts_.q_floats);
    for (std::size_t i = 0; i < parts_.matrices.size(); ++i) {
      const Matrix& m = parts_.matrices[i];
      float* const p = ps + m.p;
      refill_zero_columns(start_.data() + m.q, m.columns, m.rank, seed_, i, round);
      kernels::times_right(x.data() + m.from, m.rows, m.columns, start_.data() + m.q, m.rank, p);
      orthonormalize(p, m.rows, m.rank);
      kernels::times_left(x.data() + m.from, m.rows, m.columns, p, m.rank, qs + m.q);
    }
    if (!std::isfinite(kernels::dot(qs, qs, parts_.q_floats))) not_a_number();
    std::copy_n(qs, parts_.q_floats, start_.begin());
    return std::move(code).message();
  }

  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const float* const rest = reader.items<float>(parts_.rest_floats);
    const float* const ps = reader.items<float>(parts_.p_floats);
    const float* const qs = reader.items<float>(parts_.q_floats);
    reader.end();
    check_scales(ps, parts_.p_floats + parts_.q_floats);
    add_gathered(parts_.rest, rest, weight, into);
    for (const Matrix& m : parts_.matrices)
      kernels::add_product(ps + m.p, qs + m.q, m.rows, m.columns, m.rank, weight, into.data() + m.from);
  }

  std::size_t most_bytes() const override {
    return (parts_.rest_floats + parts_.p_floats + parts_.q_floats) * sizeof(float);
  }

  SavedState state() override {
    start_.resize(parts_.q_floats);
    return {.vectors = {start_}, .numbers = {}};
  }

 private:
  const Matrices parts_;
  const std::uint64_t seed_;
  std::vector<float> start_;
};

// Code of the sum over nodes: P and the uncompressed part, then Q.
class SummedPowerSgd final : public SummedCodec {
 public:
  SummedPowerSgd(int rank, const StreamShape& shape)
      : parts_(shape, rank),
        seed_(shape.seed),
        first_(parts_.rest_floats + parts_.p_floats),
        second_(parts_.q_floats) {
    if (shape.feedback) error_.resize(shape.length);
  }

  std::size_t phases() const override { return parts_.matrices.empty() ? 1 : 2; }

  std::span<float> phase(std::size_t k, std::span<const float> x, std::uint64_t round) override {
    return k == 0 ? left_factors(x, round) : right_factors(x);
  }

  void finish(float weight, std::span<float> out) override {
    float* const memory = error_.empty() ? nullptr : error_.data();
    const float* floats = first_.data();
    for (const TensorRun& run : parts_.rest) {
      for (std::size_t i = 0; i < run.length; ++i) out[run.from + i] = weight * *floats++;
      if (memory != nullptr) std::fill_n(memory + run.from, run.length, 0.0F);
    }
    for (const Matrix& m : parts_.matrices)
      kernels::product(p_of(m), second_.data() + m.q, m.rows, m.columns, m.rank, weight, out.data() + m.from,
                       memory == nullptr ? nullptr : memory + m.from);
  }

  SavedState state() override {
    SavedState state{.vectors = {second_}, .numbers = {}};
    if (!error_.empty()) state.vectors.emplace_back(error_);
    return state;
  }

  double remembered_norm() const override { return std::sqrt(squared_norm(error_)); }

 private:
  float* p_of(const Matrix& m) { return first_.data() + parts_.rest_floats + m.p; }

  std::span<float> left_factors(std::span<const float> x, std::uint64_t round) {
    const bool feedback = !error_.empty();
    float* floats = first_.data();
    for (const TensorRun& run : parts_.rest)
      for (std::size_t i = run.from; i < run.from + run.length; ++i)
        *floats++ = feedback ? error_[i] += x[i] : x[i];
    for (std::size_t i = 0; i < parts_.matrices.size(); ++i) {
      const Matrix& m = parts_.matrices[i];
      float* const q = second_.data() + m.q;
      refill_zero_columns(q, m.columns, m.rank, seed_, i, round);
      if (feedback)
        kernels::add_and_times_right(x.data() + m.from, m.rows, m.columns, q, m.rank, error_.data() + m.from,
                                     p_of(m));
      else
        kernels::times_right(x.data() + m.from, m.rows, m.columns, q, m.rank, p_of(m));
    }
    return first_;
  }

  std::span<float> right_factors(std::span<const float> x) {
    const float* const v = error_.empty() ? x.data() : error_.data();
    for (const Matrix& m : parts_.matrices) {
      orthonormalize(p_of(m), m.rows, m.rank);
      kernels::times_left(v + m.from, m.rows, m.columns, p_of(m), m.rank, second_.data() + m.q);
    }
    return second_;
  }

  const Matrices parts_;
  const std::uint64_t seed_;
  std::vector<float> first_, second_;  // the second is the start of the next round
  std::vector<float> error_;           // empty: no error feedback
};

}  // namespace

std::unique_ptr<Codec> make_powersgd_codec(int rank, const StreamShape& shape) {
  return std::make_unique<PowerSgdCodec>(rank, shape);
}
std::unique_ptr<SummedCodec> make_summed_powersgd(int rank, const StreamShape& shape) {
  return std::make_unique<SummedPowerSgd>(rank, shape);
}

}  // namespace veche
