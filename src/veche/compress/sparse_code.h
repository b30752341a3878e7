#pragma once

#include "veche/compress/codec.h"

namespace veche {

// Format of selected entries of a vector: their number, the values, then the positions. Positions
// are gaps (seven bits per byte, the eighth bit continues) or a bitmap, whichever is shorter.
class SparseCode {
 public:
  explicit SparseCode(std::size_t length) : length_(length) {}

  // `places` are ascending. Throws NotANumber.
  Message write(std::span<const float> x, std::span<const std::uint32_t> places, MessagePool& pool);
  void add(std::span<const std::byte> code, float weight, std::span<float> into);
  // Upper bound for `count` entries.
  std::size_t most_bytes(std::size_t count) const;

 private:
  const std::size_t length_;
  std::vector<std::uint8_t> gaps_;
  std::vector<std::uint32_t> places_;
};

// The positions of the k largest magnitudes, ascending. Among equal magnitudes the first ones win.
// NaN counts as the largest.
class LargestEntries {
 public:
  std::span<const std::uint32_t> find(std::span<const float> x, std::size_t k);

 private:
  std::vector<std::uint32_t> places_;
  std::vector<std::uint64_t> keys_;
};

// A fraction of `length` entries, at least one.
std::size_t part_of_entries(double part, std::size_t length);

}  // namespace veche
