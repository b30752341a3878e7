#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace veche {

// How old what was applied had become: updates made by others since it was begun (a gradient), or own steps
// since it arrived (a neighbour's parameters). Plain, so that nodes can send it.
struct Staleness {
  static constexpr std::size_t kBins = 16;  // 0, 1, 2-3, 4-7, 8-15, ..; the last one holds the rest
  std::array<std::uint64_t, kBins> bins = {};
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  std::uint64_t dropped = 0;  // came too late, or were too old, and were not applied
  std::uint64_t lead = 0;     // clocks that the quickest worker was ever ahead of the slowest

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
