#pragma once

#include <cstdint>
#include <deque>

#include "veche/base/module_api.h"
#include "veche/endpoint.h"

namespace veche::grid {

// An adaptive timeout for other members, from the durations of successful rounds: a slow network or
// machine is not a dead one. Pure: times are passed in.
class VECHE_MODULE_API RoundTimeout {
 public:
  // `first` applies until a few rounds were measured. The deadline is never less than `least`.
  RoundTimeout(Time first, Time least) : first_(first), least_(least) {}

  // A round has ended; its slowest part had this many bytes.
  void measured(Time took, std::uint64_t bytes);
  // The deadline of a round with this many bytes: four times the median of the last rounds, or the
  // median plus twelve times their spread, each scaled up if it had fewer bytes; and a quarter more
  // than any duration that occurred twice.
  Time deadline(std::uint64_t bytes) const;

 private:
  struct Round {
    Time took;
    std::uint64_t bytes;
  };
  static constexpr std::size_t kRemembered = 64, kEnough = 5;
  const Time first_, least_;
  std::deque<Round> rounds_;
};

}  // namespace veche::grid
