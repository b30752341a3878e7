#pragma once

#include <cstddef>
#include <cstdint>

namespace veche::kernels {

// The passes over long vectors that codecs are made of, compiled for several instruction sets, of which
// Highway takes the best when one is first called. All give the same bits: sums go over 16 lanes in a fixed
// order and no multiplication is fused with a sum. Pointers do not overlap.

constexpr std::size_t kBlock = 256;  // floats that share a scale

constexpr std::size_t blocks_of(std::size_t floats) { return (floats + kBlock - 1) / kBlock; }
constexpr std::size_t bytes_of_bits(std::size_t bits) { return (bits + 7) / 8; }

// --- halves (half.cc) ---
void to_fp16(const float* x, std::size_t n, std::uint16_t* out);
void to_bf16(const float* x, std::size_t n, std::uint16_t* out);
void from_fp16(const std::uint16_t* code, std::size_t n, float* out);
void from_bf16(const std::uint16_t* code, std::size_t n, float* out);
void add_fp16(const std::uint16_t* code, std::size_t n, float weight, float* into);
void add_bf16(const std::uint16_t* code, std::size_t n, float weight, float* into);
// out = code of (x + code); out may be code.
void add_to_fp16(const float* x, const std::uint16_t* code, std::size_t n, std::uint16_t* out);
void add_to_bf16(const float* x, const std::uint16_t* code, std::size_t n, std::uint16_t* out);

// --- whole numbers (levels.cc) ---
// Each block as multiples of its scale, -127 to 127. False: some x is not a number.
bool to_int8(const float* x, std::size_t n, float* scales, std::int8_t* out);
void add_int8(const float* scales, const std::int8_t* code, std::size_t n, float weight, float* into);

// A block as whole parts of its norm, `levels` of them, rounded up or down at random (by `key` and the place)
// so that the mean is right. Written as level + levels, its bits in planes: bit p of all floats of the block,
// bytes_of_bits(kBlock) bytes each, the last block's filled up. False: some x is not a number.
bool to_levels(const float* x, std::size_t n, int levels, std::uint64_t key, float* norms,
               std::uint8_t* planes);
// False, and nothing is written: some level is larger than 2 * levels.
bool levels_in_range(const std::uint8_t* planes, std::size_t n, int levels);
void add_levels(const float* norms, const std::uint8_t* planes, std::size_t n, int levels, float weight,
                float* into);
int bits_of_levels(int levels);

// --- signs and choices (bits.cc) ---
// The sum of absolute values.
double sum_of_magnitudes(const float* x, std::size_t n);
// Bits of x < 0; a bit for each block that has zeros; and for those blocks one after the other, bits of x !=
// 0, where there is room for all. How many bytes those are. Bits beyond the end are 0, 0 and 1.
std::size_t sign_bits(const float* x, std::size_t n, std::uint8_t* negative, std::uint8_t* with_zeros,
                      std::uint8_t* present);
// into += size where the bit of `negative` is 0, -= size where it is 1; only where that of `present` is 1
// (null: everywhere).
void add_signs(const std::uint8_t* negative, const std::uint8_t* present, std::size_t n, float size,
               float* into);
// Places where the magnitude, as bits without the sign, is at least `least`, ascending. `places` has room for
// n. How many.
std::size_t find_large(const float* x, std::size_t n, std::uint32_t least, std::uint32_t* places);

// --- low rank (low_rank.cc) ---
// Matrices M are n x m, row after row; P is n x rank and Q is m x rank, column after column.
// P = M Q
void times_right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank,
                 float* p);
// memory += M, and P = memory Q
void add_and_times_right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank,
                         float* memory, float* p);
// Q = M' P
void times_left(const float* matrix, std::size_t n, std::size_t m, const float* p, std::size_t rank,
                float* q);
// out = weight P Q', and memory -= out where there is a memory
void product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank, float weight,
             float* out, float* memory);
// out += weight P Q'
void add_product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank, float weight,
                 float* out);
// In double precision inside.
double dot(const float* x, const float* y, std::size_t n);

}  // namespace veche::kernels
