#include "veche/compress/sign_code.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/kernels/kernels.h"

namespace veche {
namespace {

using kernels::blocks_of;
using kernels::bytes_of_bits;
using kernels::kBlock;

bool bit_at(const std::uint8_t* bits, std::size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

class SignCodec final : public Codec {
 public:
  explicit SignCodec(const StreamShape& shape) : code_(shape), sizes_(code_.runs().size()) {}

  Message encode(std::span<const float> x, std::uint64_t /*round*/, MessagePool& pool) override {
    return code_.write(x, pool);
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    const SignCode::Parts parts = code_.read(code);
    for (std::size_t t = 0; t < sizes_.size(); ++t) sizes_[t] = weight * parts.scales[t];
    code_.add(parts, sizes_, into);
  }
  std::size_t most_bytes() const override { return code_.most_bytes(); }

 private:
  SignCode code_;
  std::vector<float> sizes_;
};

}  // namespace

std::size_t SignCode::block_bytes(std::size_t block) const {
  return bytes_of_bits(std::min(kBlock, length_ - block * kBlock));
}

std::size_t SignCode::most_bytes() const {
  return runs_.size() * sizeof(float) + bytes_of_bits(blocks_of(length_)) + 2 * bytes_of_bits(length_);
}

Message SignCode::write(std::span<const float> x, MessagePool& pool) {
  with_zeros_.resize(bytes_of_bits(blocks_of(length_)));
  negative_.resize(bytes_of_bits(length_));
  present_.resize(bytes_of_bits(length_));
  const std::size_t present =
      kernels::sign_bits(x.data(), length_, negative_.data(), with_zeros_.data(), present_.data());
  CodeWriter code(pool, runs_.size() * sizeof(float) + with_zeros_.size() + negative_.size() + present);
  float* const scales = code.room<float>(runs_.size());
  for (std::size_t t = 0; t < runs_.size(); ++t) {
    const double sum = kernels::sum_of_magnitudes(x.data() + runs_[t].from, runs_[t].length);
    scales[t] = static_cast<float>(sum / static_cast<double>(runs_[t].length));
    if (!std::isfinite(scales[t])) not_a_number();
  }
  code.put_bytes(std::as_bytes(std::span(with_zeros_)));
  code.put_bytes(std::as_bytes(std::span(negative_)));
  code.put_bytes(std::as_bytes(std::span(present_).first(present)));
  return std::move(code).message();
}

SignCode::Parts SignCode::read(std::span<const std::byte> code) const {
  CodeReader reader(code);
  Parts parts;
  parts.scales = reader.items<float>(runs_.size());
  parts.with_zeros = reader.items<std::uint8_t>(bytes_of_bits(blocks_of(length_)));
  parts.negative = reader.items<std::uint8_t>(bytes_of_bits(length_));
  std::size_t extra = 0;
  for (std::size_t block = 0; block < blocks_of(length_); ++block)
    if (bit_at(parts.with_zeros, block)) extra += block_bytes(block);
  parts.present = reader.items<std::uint8_t>(extra);
  reader.end();
  check_scales(parts.scales, runs_.size());
  return parts;
}

void SignCode::add(const Parts& code, std::span<const float> sizes, std::span<float> into) const {
  const std::uint8_t* present = code.present;  // bits of the next block
  std::size_t t = 0;
  const std::size_t blocks = blocks_of(length_);
  for (std::size_t block = 0; block < blocks;) {
    const std::size_t start = block * kBlock;
    while (runs_[t].from + runs_[t].length <= start) ++t;
    const std::size_t run_end = runs_[t].from + runs_[t].length;
    const std::uint8_t* const negative = code.negative + start / 8;
    const bool zeros = bit_at(code.with_zeros, block);
    std::size_t whole = 0;  // blocks from here on of the same kind and within this tensor
    while (block + whole < blocks && std::min((block + whole + 1) * kBlock, length_) <= run_end &&
           bit_at(code.with_zeros, block + whole) == zeros && (whole == 0 || !zeros))
      ++whole;
    if (whole > 0) {
      const std::size_t floats = std::min(whole * kBlock, length_ - start);
      kernels::add_signs(negative, zeros ? present : nullptr, floats, sizes[t], into.data() + start);
    } else {
      std::array<float, kBlock> signs{};
      const std::size_t floats = std::min(kBlock, length_ - start);
      kernels::add_signs(negative, zeros ? present : nullptr, floats, 1, signs.data());
      for (std::size_t i = 0, tensor = t; i < floats; ++i) {
        while (runs_[tensor].from + runs_[tensor].length <= start + i) ++tensor;
        into[start + i] += sizes[tensor] * signs[i];
      }
      whole = 1;
    }
    if (zeros) present += block_bytes(block);
    block += whole;
  }
}

std::unique_ptr<Codec> make_sign_codec(const StreamShape& shape) {
  return std::make_unique<SignCodec>(shape);
}

}  // namespace veche
