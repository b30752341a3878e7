#pragma once

#include <cstddef>
#include <cstdint>

namespace veche::kernels {

// Vector kernels of the codecs, compiled for several instruction sets; Highway selects the best one
// at the first call. All give the same bits: sums use 16 lanes in a fixed order, and no
// multiply-add is fused. Pointers do not overlap.

constexpr std::size_t kBlock = 256;  // floats that share a scale

constexpr std::size_t blocks_of(std::size_t floats) { return (floats + kBlock - 1) / kBlock; }
constexpr std::size_t bytes_of_bits(std::size_t bits) { return (bits + 7) / 8; }

// --- half precision (half.cc) ---
void to_fp16(const float* x, std::size_t n, std::uint16_t* out);
void to_bf16(const float* x, std::size_t n, std::uint16_t* out);
void from_fp16(const std::uint16_t* code, std::size_t n, float* out);
void from_bf16(const std::uint16_t* code, std::size_t n, float* out);
void add_fp16(const std::uint16_t* code, std::size_t n, float weight, float* into);
void add_bf16(const std::uint16_t* code, std::size_t n, float weight, float* into);
// out = code of (x + code); out may be code.
void add_to_fp16(const float* x, const std::uint16_t* code, std::size_t n, std::uint16_t* out);
void add_to_bf16(const float* x, const std::uint16_t* code, std::size_t n, std::uint16_t* out);

// --- integers (levels.cc) ---
//
// Each block as multiples of its scale, -127 to 127. Returns false if some x is not finite.
bool to_int8(const float* x, std::size_t n, float* scales, std::int8_t* out);
void add_int8(const float* scales, const std::int8_t* code, std::size_t n, float weight, float* into);

// A block as multiples of norm / levels, rounded up or down at random (by `key` and position) so
// that the mean is exact. Stored as level + levels in bit planes: bit p of all floats of the block,
// bytes_of_bits(kBlock) bytes per plane; the last block is padded. Returns false if some x is not
// finite.
bool to_levels(const float* x, std::size_t n, int levels, std::uint64_t key, float* norms,
               std::uint8_t* planes);
// Returns false, writing nothing, if some level exceeds 2 * levels.
bool levels_in_range(const std::uint8_t* planes, std::size_t n, int levels);
void add_levels(const float* norms, const std::uint8_t* planes, std::size_t n, int levels, float weight,
                float* into);
int bits_of_levels(int levels);

// --- signs and selection (bits.cc) ---
//
// The sum of absolute values.
double sum_of_magnitudes(const float* x, std::size_t n);
// Bits of x < 0; one bit per block that contains zeros; and for those blocks, one after the other,
// bits of x != 0 (the buffer has room for all blocks). Returns the number of bytes of the last
// part. Padding bits are 0, 0 and 1.
std::size_t sign_bits(const float* x, std::size_t n, std::uint8_t* negative, std::uint8_t* with_zeros,
                      std::uint8_t* present);
// into += size where the bit of `negative` is 0, -= size where it is 1; only where the bit of
// `present` is 1 (null: everywhere).
void add_signs(const std::uint8_t* negative, const std::uint8_t* present, std::size_t n, float size,
               float* into);
// Ascending positions whose magnitude (the bits without the sign) is at least `least`. `places` has
// room for n. Returns their number.
std::size_t find_large(const float* x, std::size_t n, std::uint32_t least, std::uint32_t* places);

// --- low rank (low_rank.cc) ---
//
// Matrices M are n x m, row-major; P is n x rank and Q is m x rank, column-major.
//
// P = M Q
void times_right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank,
                 float* p);
// memory += M, and P = memory Q
void add_and_times_right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank,
                         float* memory, float* p);
// Q = M' P
void times_left(const float* matrix, std::size_t n, std::size_t m, const float* p, std::size_t rank,
                float* q);
// out = weight P Q'; memory -= out unless memory is null
void product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank, float weight,
             float* out, float* memory);
// out += weight P Q'
void add_product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank, float weight,
                 float* out);
// Accumulates in double precision.
double dot(const float* x, const float* y, std::size_t n);

}  // namespace veche::kernels
