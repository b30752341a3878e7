#pragma once

#include <memory>
#include <span>
#include <vector>

namespace veche {

// Lossless compression of bytes. One thread at a time. Each direction is initialised when first
// used.
class Packing {
 public:
  Packing();
  ~Packing();

  std::span<const std::byte> pack(std::span<const std::byte> bytes);
  // Throws DamagedCode. Never produces more than `most` bytes.
  std::span<const std::byte> unpack(std::span<const std::byte> packed, std::size_t most);
  static std::size_t most_packed(std::size_t bytes);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
  std::vector<std::byte> packed_, unpacked_;
};

}  // namespace veche
