#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace veche {

// XXH3 of the bytes, continued from the hash of the preceding bytes. Detects damage and
// differences. Not cryptographic: an attacker can construct collisions.
std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t before = 0);

}  // namespace veche
