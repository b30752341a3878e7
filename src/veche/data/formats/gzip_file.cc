#include "veche/data/formats/gzip_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::uint64_t kMostGrowth = 1032;  // the maximum expansion of deflate
constexpr std::size_t kInput = 1 << 16;

class GzipUnpacker final : public PackedFile::Unpacker {
 public:
  GzipUnpacker() {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::runtime_error("zlib could not be started");
  }
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  Step unpack(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::size_t given = std::min(in.size(), kMost), room = std::min(out.size(), kMost);
    stream_.next_in = const_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const Step step{given - stream_.avail_in, room - stream_.avail_out};
    if (status == Z_STREAM_END) {
      inflateReset(&stream_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      const char* why = stream_.msg != nullptr ? stream_.msg : "unknown";
      throw RequestError(fmt::format("is damaged: its gzip data do not unpack ({})", why));
    }
    if (step.used > 0 || step.made > 0) between_members_ = status == Z_STREAM_END;
    return step;
  }
  bool whole() const override { return between_members_; }

 private:
  z_stream stream_{};
  bool between_members_ = false;  // a gzip file may consist of several members
};

}  // namespace

std::unique_ptr<PackedFile::Unpacker> make_gzip_unpacker() { return std::make_unique<GzipUnpacker>(); }

PackedFile::PackedFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  if (!std::filesystem::exists(path_, error))
    throw RequestError(fmt::format("'{}' is missing", path_.string()));
  if (!std::filesystem::is_regular_file(path_, error)) {
    throw RequestError(fmt::format("'{}' is not a file", path_.string()));
  }
  file_.open(path_, std::ios::binary);
  if (!file_) throw RequestError(fmt::format("'{}' cannot be opened for reading", path_.string()));
  bound_ = std::filesystem::file_size(path_);

  std::array<char, 4> magic{};
  file_.read(magic.data(), magic.size());
  if (magic[0] == '\x1f' && magic[1] == '\x8b') {
    unpacker_ = make_gzip_unpacker();
    bound_ *= kMostGrowth;
  } else if (magic == std::array{'\x28', '\xb5', '\x2f', '\xfd'}) {
    unpacker_ = make_zstd_unpacker();
    bound_ = std::numeric_limits<std::uint64_t>::max();
  }
  if (unpacker_) input_ = std::make_unique<std::uint8_t[]>(kInput);
  file_.clear();
  file_.seekg(0);
}

PackedFile::~PackedFile() = default;

std::size_t PackedFile::read(std::span<std::uint8_t> out) {
  if (unpacker_) return read_packed(out);
  file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return static_cast<std::size_t>(file_.gcount());
}

std::size_t PackedFile::read_packed(std::span<std::uint8_t> out) try {
  std::size_t done = 0;
  bool more = true;  // in the unpacker, from input that it has taken
  while (done < out.size()) {
    if (left_.empty() && !more) {
      file_.read(reinterpret_cast<char*>(input_.get()), kInput);
      left_ = {input_.get(), static_cast<std::size_t>(file_.gcount())};
      if (left_.empty()) {
        if (unpacker_->whole()) return done;
        throw RequestError("is truncated: its compressed data end early");
      }
    }
    const Unpacker::Step step = unpacker_->unpack(left_, out.subspan(done));
    left_ = left_.subspan(step.used);
    done += step.made;
    more = step.made > 0;
  }
  return done;
} catch (const RequestError& error) {
  throw RequestError(fmt::format("'{}' {}", path_.string(), error.what()));
}

}  // namespace veche
