#include "veche/base/files/content_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace veche {

std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t before) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), before);
}

}  // namespace veche
