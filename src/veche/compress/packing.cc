#include "veche/compress/packing.h"

#include <zstd.h>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"

namespace veche {
namespace {

constexpr int kLevel = 1;  // fast: codes have little redundancy left

class ZstdCodec final : public Codec {
 public:
  explicit ZstdCodec(std::unique_ptr<Codec> codec) : codec_(std::move(codec)) {}

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    return pool.copy_of(packing_.pack(codec_->encode(x, round, pool).bytes()));
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    codec_->add_decoded(packing_.unpack(code, codec_->most_bytes()), weight, into);
  }
  std::size_t most_bytes() const override { return Packing::most_packed(codec_->most_bytes()); }
  SavedState state() override { return codec_->state(); }
  double remembered_norm() const override { return codec_->remembered_norm(); }

 private:
  const std::unique_ptr<Codec> codec_;
  Packing packing_;
};

}  // namespace

struct Packing::Contexts {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> pack{nullptr, ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> unpack{nullptr, ZSTD_freeDCtx};
};

Packing::Packing() : contexts_(std::make_unique<Contexts>()) {}
Packing::~Packing() = default;

std::size_t Packing::most_packed(std::size_t bytes) {
  return ZSTD_compressBound(bytes) + sizeof(std::uint32_t);
}

std::span<const std::byte> Packing::pack(std::span<const std::byte> bytes) {
  if (contexts_->pack == nullptr) {
    contexts_->pack.reset(ZSTD_createCCtx());
    ZSTD_CCtx_setParameter(contexts_->pack.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(contexts_->pack.get(), ZSTD_c_checksumFlag, 1);
  }
  packed_.resize(most_packed(bytes.size()));
  const std::size_t size =
      ZSTD_compress2(contexts_->pack.get(), packed_.data(), packed_.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0)
    throw RunError(std::string("zstd cannot pack a code: ") + ZSTD_getErrorName(size));
  return std::span(packed_).first(size);
}

std::span<const std::byte> Packing::unpack(std::span<const std::byte> packed, std::size_t most) {
  if (contexts_->unpack == nullptr) contexts_->unpack.reset(ZSTD_createDCtx());
  unpacked_.resize(most);
  const std::size_t size =
      ZSTD_decompressDCtx(contexts_->unpack.get(), unpacked_.data(), most, packed.data(), packed.size());
  if (ZSTD_isError(size) != 0)
    CodeReader::damaged(std::string("cannot be unpacked: ") + ZSTD_getErrorName(size));
  return std::span(unpacked_).first(size);
}

std::unique_ptr<Codec> with_zstd(std::unique_ptr<Codec> codec) {
  return std::make_unique<ZstdCodec>(std::move(codec));
}

}  // namespace veche
