#include <fmt/format.h>
#include <zstd.h>

#include "veche/data/formats/gzip_file.h"
#include "veche/errors.h"

namespace veche {
namespace {

class ZstdUnpacker final : public PackedFile::Unpacker {
 public:
  Step unpack(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t status = ZSTD_decompressStream(stream_.get(), &to, &from);
    if (ZSTD_isError(status) != 0)
      throw RequestError(
          fmt::format("is damaged: its zstd data do not unpack ({})", ZSTD_getErrorName(status)));
    if (from.pos > 0 || to.pos > 0) between_frames_ = status == 0;
    return {from.pos, to.pos};
  }
  bool whole() const override { return between_frames_; }

 private:
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_{ZSTD_createDStream(),
                                                                           ZSTD_freeDStream};
  bool between_frames_ = false;  // a file may consist of several frames
};

}  // namespace

std::unique_ptr<PackedFile::Unpacker> make_zstd_unpacker() { return std::make_unique<ZstdUnpacker>(); }

}  // namespace veche
