#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace veche {

// An array as NumPy saves it, in the memory that was parsed: unpacked, the last dimension running fastest.
struct NpyArray {
  char kind = 'u';       // u: not negative, i: whole, b: true or false, f: floating
  std::size_t item = 1;  // bytes of one number
  std::vector<std::uint64_t> sizes;
  std::span<const std::uint8_t> bytes;

  std::uint64_t count() const;
};

// Throws RequestError with `name`: not of this format, truncated, longer than its header says, of a type or
// an order that is not read.
NpyArray parse_npy(std::span<const std::uint8_t> bytes, const std::string& name);

// Number `index` of an array of whole numbers.
std::int64_t whole_number(const NpyArray& array, std::uint64_t index);

}  // namespace veche
