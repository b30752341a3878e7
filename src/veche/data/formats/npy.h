#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace veche {

// A NumPy array, in C order, in the memory that was parsed.
struct NpyArray {
  char kind = 'u';       // u: unsigned, i: signed, b: bool, f: floating point
  std::size_t item = 1;  // bytes per element
  std::vector<std::uint64_t> sizes;
  std::span<const std::uint8_t> bytes;

  std::uint64_t count() const;
};

// Throws RequestError with `name`: another format, truncated, longer than its header says, or an
// unsupported type or order.
NpyArray parse_npy(std::span<const std::uint8_t> bytes, const std::string& name);

// Element `index` of an integer array.
std::int64_t whole_number(const NpyArray& array, std::uint64_t index);

}  // namespace veche
