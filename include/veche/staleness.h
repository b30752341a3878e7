#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace veche {

// Histogram of the age of applied updates. For a gradient: updates by other nodes since its
// computation began. For a neighbour's parameters: own steps since they arrived. Trivially
// copyable, so that nodes can send it.
struct Staleness {
  static constexpr std::size_t kBins = 16;  // ages 0, 1, 2-3, 4-7, 8-15, ..; the last bin holds the rest
  std::array<std::uint64_t, kBins> bins = {};
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  std::uint64_t dropped = 0;  // arrived too late or too old; not applied
  std::uint64_t lead = 0;     // largest lead, in clocks, of the fastest worker over the slowest

  void note(std::uint64_t age) {
    ++bins[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(age)), kBins - 1)];
    ++count;
    sum += age;
    most = std::max(most, age);
  }
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }
  bool empty() const { return count == 0 && dropped == 0; }

  Staleness& operator+=(const Staleness& other) {
    for (std::size_t i = 0; i < kBins; ++i) bins[i] += other.bins[i];
    count += other.count;
    sum += other.sum;
    most = std::max(most, other.most);
    dropped += other.dropped;
    lead = std::max(lead, other.lead);
    return *this;
  }
};

}  // namespace veche
