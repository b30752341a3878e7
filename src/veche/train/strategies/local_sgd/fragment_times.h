#pragma once

#include <cstdint>
#include <optional>

namespace veche {

// When the fragments of streaming local SGD are sent and used, counted in steps made. In every
// period fragment p of P is used after (p + 1) period / P steps, and sent `delay` steps earlier.
// The delay is shorter than the time between two fragments, so only one is under way at a time.
class FragmentTimes {
 public:
  FragmentTimes(std::uint64_t period, std::uint64_t fragments, std::uint64_t delay)
      : period_(period), fragments_(fragments), delay_(delay) {}

  // The fragment whose average is used when this number of steps has been made.
  std::optional<std::size_t> used_at(std::uint64_t made) const {
    if (made == 0) return {};
    for (std::uint64_t p = 0; p < fragments_; ++p)
      if ((p + 1) * period_ / fragments_ % period_ == made % period_) return static_cast<std::size_t>(p);
    return {};
  }
  std::optional<std::size_t> sent_at(std::uint64_t made) const { return used_at(made + delay_); }
  // The fragment that was sent then or before, and is not used yet.
  std::optional<std::size_t> under_way_at(std::uint64_t made) const {
    for (std::uint64_t later = 1; made > 0 && later <= delay_; ++later)
      if (const auto fragment = used_at(made + later)) return fragment;
    return {};
  }

 private:
  const std::uint64_t period_, fragments_, delay_;
};

}  // namespace veche
