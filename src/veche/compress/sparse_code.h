#pragma once

#include "veche/compress/codec.h"

namespace veche {

// How some entries of a vector are written: their number, the values, then the places: bytes that tell how
// many are passed over before each (seven bits a byte, the eighth: there is more), or a bit for every place,
// whichever is shorter.
class SparseCode {
 public:
  explicit SparseCode(std::size_t length) : length_(length) {}

  // `places` ascend. Throws NotANumber.
  Message write(std::span<const float> x, std::span<const std::uint32_t> places, MessagePool& pool);
  void add(std::span<const std::byte> code, float weight, std::span<float> into);
  // With at most `count` entries.
  std::size_t most_bytes(std::size_t count) const;

 private:
  const std::size_t length_;
  std::vector<std::uint8_t> gaps_;
  std::vector<std::uint32_t> places_;
};

// The places of the k largest magnitudes, ascending; of equals the first. NaN counts as the largest of all.
class LargestEntries {
 public:
  std::span<const std::uint32_t> find(std::span<const float> x, std::size_t k);

 private:
  std::vector<std::uint32_t> places_;
  std::vector<std::uint64_t> keys_;
};

// A part of `length` entries: at least one of them.
std::size_t part_of_entries(double part, std::size_t length);

}  // namespace veche
