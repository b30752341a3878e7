#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

namespace veche {

// A file read sequentially, decompressed if its first bytes say gzip or zstd. Throws RequestError
// naming the file if it cannot be opened, or if the compressed data are truncated or damaged. One
// thread at a time.
class PackedFile {
 public:
  explicit PackedFile(std::filesystem::path path);
  ~PackedFile();

  // Fills `out`; returns the number of bytes, less than requested only at the end of the file.
  std::size_t read(std::span<std::uint8_t> out);
  bool packed() const { return unpacker_ != nullptr; }
  // Upper bound on the uncompressed size, to check a header against before allocating memory.
  std::uint64_t bound() const { return bound_; }

  // One compression. Fed with the bytes of a file in their order.
  class Unpacker {
   public:
    virtual ~Unpacker() = default;
    struct Step {
      std::size_t used = 0;  // bytes of the input
      std::size_t made = 0;
    };
    // Throws RequestError with the rest of a sentence about the file.
    virtual Step unpack(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) = 0;
    // Whether the file may end here.
    virtual bool whole() const = 0;
  };

 private:
  std::size_t read_packed(std::span<std::uint8_t> out);

  std::filesystem::path path_;
  std::ifstream file_;
  std::unique_ptr<Unpacker> unpacker_;  // null if not compressed
  std::unique_ptr<std::uint8_t[]> input_;
  std::span<const std::uint8_t> left_;  // of the input, not unpacked yet
  std::uint64_t bound_ = 0;
};

std::unique_ptr<PackedFile::Unpacker> make_gzip_unpacker();
std::unique_ptr<PackedFile::Unpacker> make_zstd_unpacker();

}  // namespace veche
