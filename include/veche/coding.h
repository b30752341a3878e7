#pragma once

#include <cstdint>

namespace veche {

// What codecs have made of a strategy's messages (docs/compression.md). Plain, so that nodes can send it.
struct Coding {
  std::uint64_t plain_bytes = 0;  // what the same exchanges would have sent as floats ..
  std::uint64_t coded_bytes = 0;  // .. and what they have sent
  double seconds = 0;             // spent on coding and decoding, by this process
  double remembered_squared = 0;  // of all that is still to be told: error memories, models and their copies

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
