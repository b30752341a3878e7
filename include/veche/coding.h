#pragma once

#include <cstdint>

namespace veche {

// What compression achieved on a strategy's messages (docs/compression.md). Trivially copyable, so
// that nodes can send it.
struct Coding {
  std::uint64_t plain_bytes = 0;  // bytes the same exchanges would send as plain floats
  std::uint64_t coded_bytes = 0;  // bytes they sent
  double seconds = 0;             // time this process spent encoding and decoding
  double remembered_squared = 0;  // squared norm of the compression error not yet sent

  bool empty() const { return plain_bytes == 0; }
  double ratio() const {
    return coded_bytes == 0 ? 1 : static_cast<double>(plain_bytes) / static_cast<double>(coded_bytes);
  }
  Coding& operator+=(const Coding& other) {
    plain_bytes += other.plain_bytes;
    coded_bytes += other.coded_bytes;
    seconds += other.seconds;
    remembered_squared += other.remembered_squared;
    return *this;
  }
};

}  // namespace veche
