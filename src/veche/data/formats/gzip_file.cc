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

}  // namespace

struct PackedFile::Inflater {
  Inflater() {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::runtime_error("zlib could not be started");
  }
  ~Inflater() { inflateEnd(&stream); }

  z_stream stream{};
  std::array<std::uint8_t, 1 << 16> input;
  bool between_members = false;  // a gzip file may consist of several members
};

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

  std::array<char, 2> magic{};
  file_.read(magic.data(), magic.size());
  if (magic == std::array{'\x1f', '\x8b'}) {
    inflater_ = std::make_unique<Inflater>();
    bound_ *= kMostGrowth;
  }
  file_.clear();
  file_.seekg(0);
}

PackedFile::~PackedFile() = default;

std::size_t PackedFile::read(std::span<std::uint8_t> out) {
  if (inflater_) return read_packed(out);
  file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return static_cast<std::size_t>(file_.gcount());
}

std::size_t PackedFile::read_packed(std::span<std::uint8_t> out) {
  z_stream& stream = inflater_->stream;
  std::size_t done = 0;
  while (done < out.size()) {
    if (stream.avail_in == 0) {
      file_.read(reinterpret_cast<char*>(inflater_->input.data()), inflater_->input.size());
      stream.next_in = inflater_->input.data();
      stream.avail_in = static_cast<uInt>(file_.gcount());
      if (stream.avail_in == 0) {
        if (inflater_->between_members) return done;
        throw RequestError(fmt::format("'{}' is truncated: its gzip data end early", path_.string()));
      }
    }
    const std::size_t room = std::min<std::size_t>(out.size() - done, std::numeric_limits<uInt>::max());
    stream.next_out = out.data() + done;
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      const char* why = stream.msg != nullptr ? stream.msg : "unknown";
      throw RequestError(
          fmt::format("'{}' is damaged: its gzip data do not unpack ({})", path_.string(), why));
    }
    inflater_->between_members = status == Z_STREAM_END;
  }
  return done;
}

}  // namespace veche
