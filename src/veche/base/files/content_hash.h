#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace veche {

// XXH3 of the bytes, going on from the hash of what came before: tells damage and difference, but is no proof
// against somebody who wants two contents to have the same one.
std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t before = 0);

}  // namespace veche
