#include "veche/comm/grid/membership/suspicion.h"

#include <algorithm>

namespace veche::grid {
namespace {

constexpr std::size_t kObservers = 5;

bool misses(const std::vector<Missed>& report, std::uint32_t seat) {
  const auto at = std::ranges::lower_bound(report, seat, {}, &Missed::seat);
  return at != report.end() && at->seat == seat;
}

bool majority_misses(std::uint32_t seat, const std::vector<bool>& lost,
                     std::span<const std::vector<Missed>> reports) {
  std::size_t watching = 0, missing = 0;
  for (const std::uint32_t observer : observers_of(seat, lost)) {
    ++watching;
    if (misses(reports[observer], seat)) ++missing;
  }
  return 2 * missing > watching;
}

// For each seat, the number of its pairs that have been broken for long.
std::vector<std::size_t> broken_pairs(const std::vector<bool>& lost,
                                      std::span<const std::vector<Missed>> reports, Time now, Time timeout) {
  std::vector<std::size_t> pairs(lost.size(), 0);
  for (std::uint32_t by = 0; by < lost.size(); ++by) {
    if (lost[by]) continue;
    for (const Missed& missed : reports[by]) {
      if (lost[missed.seat] || now < missed.since + timeout) continue;
      ++pairs[by];
      ++pairs[missed.seat];
    }
  }
  return pairs;
}

}  // namespace

std::vector<std::uint32_t> observers_of(std::uint32_t seat, const std::vector<bool>& absent) {
  std::vector<std::uint32_t> observers;
  for (std::size_t i = 1; i < absent.size() && observers.size() < kObservers; ++i) {
    const std::size_t next = (seat + i) % absent.size();
    if (!absent[next]) observers.push_back(static_cast<std::uint32_t>(next));
  }
  return observers;
}

std::vector<bool> believed_lost(std::vector<bool> known, std::span<const std::vector<Missed>> reports,
                                Time now, Time timeout) {
  if (std::ranges::all_of(reports, [](const auto& report) { return report.empty(); })) return known;
  std::vector<bool> lost = std::move(known);
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t seat = static_cast<std::uint32_t>(lost.size()); seat-- > 0;)  // low seats stay
      if (!lost[seat] && majority_misses(seat, lost, reports)) more = lost[seat] = true;
  }
  for (;;) {
    const auto pairs = broken_pairs(lost, reports, now, timeout);
    const auto worst = std::max_element(pairs.rbegin(), pairs.rend());  // the last of equals
    if (worst == pairs.rend() || *worst == 0) return lost;
    lost[static_cast<std::size_t>(pairs.rend() - worst) - 1] = true;
  }
}

}  // namespace veche::grid
