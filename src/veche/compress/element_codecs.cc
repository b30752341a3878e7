// Codecs that treat every float, or every block of floats, alike: none, fp16, bf16, int8, qsgd.
#include <algorithm>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/half.h"
#include "veche/compress/kernels/kernels.h"
#include "veche/compress/tensor_runs.h"
#include "veche/random.h"

namespace veche {
namespace {

using kernels::blocks_of;

class RawCodec final : public Codec {
 public:
  explicit RawCodec(std::size_t length) : length_(length) {}

  Message encode(std::span<const float> x, std::uint64_t /*round*/, MessagePool& pool) override {
    return pool.copy_of(x);
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const float* const floats = reader.items<float>(length_);
    reader.end();
    add_gathered({{0, length_}}, floats, weight, into);
  }
  std::size_t most_bytes() const override { return length_ * sizeof(float); }

 private:
  const std::size_t length_;
};

class HalfCodec final : public Codec {
 public:
  HalfCodec(HalfFormat format, std::size_t length) : format_(format), length_(length) {}

  Message encode(std::span<const float> x, std::uint64_t /*round*/, MessagePool& pool) override {
    Message code = pool.make(most_bytes());
    to_half(format_, x, code.writable<std::uint16_t>());
    return code;
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const auto* const halves = reader.items<std::uint16_t>(length_);
    reader.end();
    add_half(format_, {halves, length_}, weight, into);
  }
  std::size_t most_bytes() const override { return length_ * sizeof(std::uint16_t); }

 private:
  const HalfFormat format_;
  const std::size_t length_;
};

// Layout: scales, then integers.
class Int8Codec final : public Codec {
 public:
  explicit Int8Codec(std::size_t length) : length_(length) {}

  Message encode(std::span<const float> x, std::uint64_t /*round*/, MessagePool& pool) override {
    CodeWriter code(pool, most_bytes());
    float* const scales = code.room<float>(blocks_of(length_));
    if (!kernels::to_int8(x.data(), length_, scales, code.room<std::int8_t>(length_))) not_a_number();
    return std::move(code).message();
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const auto* const scales = reader.items<float>(blocks_of(length_));
    const auto* const numbers = reader.items<std::int8_t>(length_);
    reader.end();
    check_scales(scales, blocks_of(length_));
    kernels::add_int8(scales, numbers, length_, weight, into.data());
  }
  std::size_t most_bytes() const override { return blocks_of(length_) * sizeof(float) + length_; }

 private:
  const std::size_t length_;
};

// Layout: norms of blocks, then levels in bit planes. Unbiased by itself. With error feedback,
// levels are scaled by 1 / (1 + w), where w is the largest ratio of variance to squared norm:
// otherwise a few levels would add more error than they remove.
class QsgdCodec final : public Codec {
 public:
  QsgdCodec(int levels, const StreamShape& shape)
      : levels_(levels), length_(shape.length), seed_(shape.seed), sender_(shape.sender) {
    if (!shape.remembered) return;
    const double block = static_cast<double>(std::min(kernels::kBlock, length_));
    const double variance = std::min(block / levels / levels, std::sqrt(block) / levels);
    part_ = static_cast<float>(1 / (1 + variance));
  }

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    CodeWriter code(pool, most_bytes());
    float* const norms = code.room<float>(blocks_of(length_));
    const std::uint64_t key = RandomStream(seed_, "qsgd", sender_, round).next();
    if (!kernels::to_levels(x.data(), length_, levels_, key, norms, code.room<std::uint8_t>(plane_bytes())))
      not_a_number();
    return std::move(code).message();
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const auto* const norms = reader.items<float>(blocks_of(length_));
    const auto* const planes = reader.items<std::uint8_t>(plane_bytes());
    reader.end();
    check_scales(norms, blocks_of(length_));
    if (!kernels::levels_in_range(planes, length_, levels_)) CodeReader::damaged("has a level out of range");
    kernels::add_levels(norms, planes, length_, levels_, weight * part_, into.data());
  }
  std::size_t most_bytes() const override { return blocks_of(length_) * sizeof(float) + plane_bytes(); }

 private:
  std::size_t plane_bytes() const {
    return blocks_of(length_) * (kernels::kBlock / 8) *
           static_cast<std::size_t>(kernels::bits_of_levels(levels_));
  }

  const int levels_;
  const std::size_t length_;
  const std::uint64_t seed_, sender_;
  float part_ = 1;
};

}  // namespace

std::unique_ptr<Codec> make_raw_codec(const StreamShape& shape) {
  return std::make_unique<RawCodec>(shape.length);
}
std::unique_ptr<Codec> make_half_codec(const CodecSpec& spec, const StreamShape& shape) {
  return std::make_unique<HalfCodec>(half_format(spec), shape.length);
}
std::unique_ptr<Codec> make_int8_codec(const StreamShape& shape) {
  return std::make_unique<Int8Codec>(shape.length);
}
std::unique_ptr<Codec> make_qsgd_codec(int levels, const StreamShape& shape) {
  return std::make_unique<QsgdCodec>(levels, shape);
}

}  // namespace veche
