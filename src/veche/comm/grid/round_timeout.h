#pragma once

#include <cstdint>
#include <deque>

#include "veche/base/module/module_api.h"
#include "veche/endpoint.h"

namespace veche::grid {

// How long the others are waited for, from how long rounds took that ended well. Not guessed by a person: a
// slow network or a slow machine is not a dead one. Pure: times are passed in.
class VECHE_MODULE_API RoundTimeout {
 public:
  // `first` is good until a few rounds were measured; it is never less than `least`.
  RoundTimeout(Time first, Time least) : first_(first), least_(least) {}

  // A round has ended; its slowest part was so many bytes.
  void measured(Time took, std::uint64_t bytes);
  // For a round of so many bytes: four times the median, or twelve times the spread above it, of the last
  // rounds, each taken for longer in proportion where it was of fewer bytes; and a quarter more than what
  // happened twice.
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
