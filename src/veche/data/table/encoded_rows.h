#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace veche {

// Rows come from anywhere in memory: unless they are fetched this many ahead, each is waited for.
inline constexpr std::size_t kRowsAhead = 16;
inline void fetch_row(const float* row, std::size_t floats) {
  constexpr std::size_t kLine = 64 / sizeof(float);  // of the cache
  for (std::size_t i = 0; i < floats; i += kLine) __builtin_prefetch(row + i);
  __builtin_prefetch(row + floats - 1);
}

// Rows of a table as a model takes them, in memory: the inputs of a row and behind them its target.
// To prepare a batch is then to copy rows. Immutable once filled; any thread may read.
class EncodedRows {
 public:
  EncodedRows() = default;  // of no row
  EncodedRows(std::size_t rows, std::size_t inputs)
      : rows_(rows), inputs_(inputs), memory_(rows * stride() + kPiece) {}

  static std::size_t bytes(std::size_t rows, std::size_t inputs) {
    return rows * (inputs + 1) * sizeof(float);
  }

  std::size_t rows() const { return rows_; }
  std::span<float> inputs(std::size_t row) { return {memory_.data() + row * stride(), inputs_}; }
  std::span<const float> inputs(std::size_t row) const { return {memory_.data() + row * stride(), inputs_}; }
  float& target(std::size_t row) { return memory_[row * stride() + inputs_]; }
  float target(std::size_t row) const { return memory_[row * stride() + inputs_]; }

  // Copies rows, one after the other. `take` is called with the place of each and its target.
  template <class Take>
  void gather(std::span<const std::uint32_t> rows, float* out, const Take& take) const;

 private:
  // A copy moves pieces of this many floats: the last may reach into the place of the next row,
  // which is written later.
  static constexpr std::size_t kPiece = 8;

  std::size_t stride() const { return inputs_ + 1; }

  std::size_t rows_ = 0, inputs_ = 0;
  std::vector<float> memory_;  // a piece longer than its rows
};

template <class Take>
void EncodedRows::gather(std::span<const std::uint32_t> rows, float* out, const Take& take) const {
  const float* const all = memory_.data();
  const std::size_t in_pieces = (inputs_ + kPiece - 1) / kPiece * kPiece;
  for (std::size_t i = 0; i < rows.size(); ++i, out += inputs_) {
    if (i + kRowsAhead < rows.size()) fetch_row(all + rows[i + kRowsAhead] * stride(), stride());
    const float* const row = all + rows[i] * stride();
    take(i, row[inputs_]);
    if ((rows.size() - i) * inputs_ < in_pieces) {
      std::copy_n(row, inputs_, out);
      continue;
    }
    for (std::size_t from = 0; from < inputs_; from += kPiece)
      std::memcpy(out + from, row + from, kPiece * sizeof(float));
  }
}

}  // namespace veche
