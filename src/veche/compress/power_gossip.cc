#include "veche/compress/power_gossip.h"

#include "veche/compress/code_bytes.h"
#include "veche/compress/kernels/kernels.h"
#include "veche/compress/matrices.h"

namespace veche {

struct PowerGossip::Parts {
  Parts(int rank, const StreamShape& shape, bool first_end)
      : matrices(shape, rank),
        seed(shape.seed),
        edge(shape.sender),
        first(first_end),
        right(matrices.q_floats),
        left(matrices.p_floats) {}

  const Matrices matrices;
  const std::uint64_t seed, edge;
  const bool first;
  std::vector<float> right, left;  // columns multiplied with the difference, and the products
  std::vector<float> mine;         // sent by encode
  bool from_right = true;

  std::size_t factor_floats(bool by_right) const {
    return matrices.rest_floats + (by_right ? matrices.p_floats : matrices.q_floats);
  }
};

PowerGossip::PowerGossip(int rank, const StreamShape& shape, bool first)
    : parts_(std::make_unique<Parts>(rank, shape, first)) {}
PowerGossip::~PowerGossip() = default;
PowerGossip::PowerGossip(PowerGossip&&) noexcept = default;

std::size_t PowerGossip::code_bytes(std::uint64_t round) const {
  return parts_->factor_floats(round % 2 == 0) * sizeof(float);
}

Message PowerGossip::encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) {
  Parts& own = *parts_;
  own.from_right = round % 2 == 0;
  own.mine.resize(own.factor_floats(own.from_right));
  gather(own.matrices.rest, x, own.mine.data());
  float* const told = own.mine.data() + own.matrices.rest_floats;
  for (std::size_t i = 0; i < own.matrices.matrices.size(); ++i) {
    const Matrix& m = own.matrices.matrices[i];
    float* const columns = own.from_right ? own.right.data() + m.q : own.left.data() + m.p;
    const std::size_t length = own.from_right ? m.columns : m.rows;
    refill_zero_columns(columns, length, m.rank, own.seed, own.edge << 20 | i, round);
    orthonormalize(columns, length, m.rank);
    const float* const matrix = x.data() + m.from;
    if (own.from_right)
      kernels::times_right(matrix, m.rows, m.columns, columns, m.rank, told + m.p);
    else
      kernels::times_left(matrix, m.rows, m.columns, columns, m.rank, told + m.q);
  }
  return pool.copy_of(std::span<const float>(own.mine));
}

void PowerGossip::move(std::span<const std::byte> theirs, float weight, std::span<float> x) {
  Parts& own = *parts_;
  CodeReader reader(theirs);
  const float* const other = reader.items<float>(own.mine.size());
  reader.end();
  const std::size_t rest = own.matrices.rest_floats;
  check_scales(other + rest, own.mine.size() - rest);
  const float* floats = other;
  const float* mine = own.mine.data();
  for (const TensorRun& run : own.matrices.rest)
    for (std::size_t i = run.from; i < run.from + run.length; ++i) x[i] += weight * (*floats++ - *mine++);
  // The difference, first end minus second, with the same bits at both ends.
  std::vector<float>& difference = own.from_right ? own.left : own.right;
  for (std::size_t i = 0; i < difference.size(); ++i)
    difference[i] = own.first ? mine[i] - floats[i] : floats[i] - mine[i];
  const float towards = own.first ? -weight : weight;
  for (const Matrix& m : own.matrices.matrices)
    kernels::add_product(own.left.data() + m.p, own.right.data() + m.q, m.rows, m.columns, m.rank, towards,
                         x.data() + m.from);
}

SavedState PowerGossip::state() { return {.vectors = {parts_->right, parts_->left}, .numbers = {}}; }

}  // namespace veche
