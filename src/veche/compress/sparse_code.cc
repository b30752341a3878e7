#include "veche/compress/sparse_code.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/kernels/kernels.h"

namespace veche {
namespace {

constexpr std::uint32_t kBitmap = 0x80000000U;  // flag in the number of entries: positions are a bitmap

std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffU; }

}  // namespace

std::size_t part_of_entries(double part, std::size_t length) {
  const auto entries = static_cast<std::size_t>(std::llround(part * static_cast<double>(length)));
  return std::clamp<std::size_t>(entries, std::min<std::size_t>(1, length), length);
}

std::size_t SparseCode::most_bytes(std::size_t count) const {
  // A gap of 128 or more needs a second byte, and so on; at most length / 128 gaps do.
  const std::size_t gaps = count + length_ / 128 + length_ / 16384 + length_ / 2097152 + length_ / 268435456;
  return sizeof(std::uint32_t) + count * sizeof(float) + std::min(gaps, kernels::bytes_of_bits(length_));
}

Message SparseCode::write(std::span<const float> x, std::span<const std::uint32_t> places,
                          MessagePool& pool) {
  const std::size_t bitmap_bytes = kernels::bytes_of_bits(length_);
  gaps_.clear();
  std::uint32_t next = 0;
  for (const std::uint32_t place : places) {
    std::uint32_t gap = place - next;
    for (; gap >= 0x80; gap >>= 7) gaps_.push_back(static_cast<std::uint8_t>(gap | 0x80));
    gaps_.push_back(static_cast<std::uint8_t>(gap));
    next = place + 1;
  }
  const bool bitmap = gaps_.size() > bitmap_bytes;
  if (bitmap) {
    gaps_.assign(bitmap_bytes, 0);
    for (const std::uint32_t place : places)
      gaps_[place / 8] = static_cast<std::uint8_t>(gaps_[place / 8] | 1U << (place % 8));
  }
  CodeWriter code(pool, sizeof(std::uint32_t) + places.size() * sizeof(float) + gaps_.size());
  code.put(static_cast<std::uint32_t>(places.size()) | (bitmap ? kBitmap : 0));
  float* values = code.room<float>(places.size());
  bool numbers = true;
  for (const std::uint32_t place : places) {
    numbers &= std::isfinite(x[place]);
    *values++ = x[place];
  }
  if (!numbers) not_a_number();
  code.put_bytes(std::as_bytes(std::span(gaps_)));
  return std::move(code).message();
}

void SparseCode::add(std::span<const std::byte> code, float weight, std::span<float> into) {
  CodeReader reader(code);
  const auto head = reader.item<std::uint32_t>();
  const std::size_t count = head & ~kBitmap;
  if (count > length_) CodeReader::damaged("has more entries than the vector");
  const float* const values = reader.items<float>(count);
  check_scales(values, count);
  places_.clear();
  if ((head & kBitmap) != 0) {
    const auto* const bits = reader.items<std::uint8_t>(kernels::bytes_of_bits(length_));
    reader.end();
    for (std::size_t byte = 0; byte < kernels::bytes_of_bits(length_); ++byte)
      for (unsigned left = bits[byte]; left != 0; left &= left - 1)
        places_.push_back(static_cast<std::uint32_t>(byte * 8) +
                          static_cast<std::uint32_t>(std::countr_zero(left)));
    if (places_.size() != count) CodeReader::damaged("has different numbers of positions and values");
  } else {
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < count; ++i, ++next) {
      std::uint8_t byte = 0x80;
      for (unsigned shift = 0; (byte & 0x80) != 0; shift += 7) {
        byte = reader.item<std::uint8_t>();
        if (shift > 28) CodeReader::damaged("has a gap that does not end");
        next += static_cast<std::uint64_t>(byte & 0x7f) << shift;
      }
      places_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(next, length_)));
    }
    reader.end();
  }
  if (!places_.empty() && places_.back() >= length_) CodeReader::damaged("tells of an entry beyond the end");
  for (std::size_t i = 0; i < count; ++i) into[places_[i]] += weight * values[i];
}

std::span<const std::uint32_t> LargestEntries::find(std::span<const float> x, std::size_t k) {
  if (k == 0) return {};
  // A sample estimates a threshold that slightly more than k entries reach; these are then sorted.
  // The sample positions follow no pattern that a vector may have.
  constexpr std::size_t kSample = 16384;
  std::uint32_t least = 0;
  if (x.size() > 4 * kSample) {
    keys_.resize(kSample);
    const std::size_t step = x.size() / kSample;
    std::uint32_t scrambled = 1;
    for (std::size_t i = 0; i < kSample; ++i) {
      scrambled = scrambled * 1664525U + 1013904223U;
      keys_[i] = magnitude(x[i * step + (static_cast<std::uint64_t>(scrambled) * step >> 32)]);
    }
    const double expected =
        static_cast<double>(kSample) * static_cast<double>(k) / static_cast<double>(x.size());
    const auto rank = static_cast<std::size_t>(expected + 4 * std::sqrt(expected) + 4);
    if (rank < kSample) {
      std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(rank), keys_.end(),
                       std::greater<>());
      least = static_cast<std::uint32_t>(keys_[rank]);
    }
  }
  places_.resize(x.size());
  std::size_t found = kernels::find_large(x.data(), x.size(), least, places_.data());
  if (found < k) found = kernels::find_large(x.data(), x.size(), 0, places_.data());
  if (found == k) return std::span(places_).first(k);
  // By magnitude, then by position. Keys are unique, so the choice does not depend on the sort.
  keys_.resize(found);
  for (std::size_t i = 0; i < found; ++i)
    keys_[i] = static_cast<std::uint64_t>(~magnitude(x[places_[i]])) << 32 | places_[i];
  const auto last = keys_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(keys_.begin(), last, keys_.end());
  const std::uint64_t limit = *last;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint64_t key = static_cast<std::uint64_t>(~magnitude(x[places_[i]])) << 32 | places_[i];
    if (key <= limit) places_[kept++] = places_[i];
  }
  return std::span(places_).first(kept);
}

}  // namespace veche
