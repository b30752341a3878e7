#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "veche/options.h"

namespace veche {

// The [strategy] section of local SGD, of all its forms. Throws RequestError for keys that
// contradict each other.
struct LocalSgdOptions {
  explicit LocalSgdOptions(const Options& options);

  bool has_outer() const { return outer != "none"; }
  // One average, after the last step.
  bool at_end() const {
    const auto* word = std::get_if<std::string>(&period.data);
    return word != nullptr && *word == "end";
  }
  // The model is averaged in parts, each at its own time.
  bool streams() const { return fragments > 1 || delay > 0 || blend > 0; }
  // Nodes remember the model of the last average for the steps after it.
  bool pulls() const { return proximal > 0 || scaffold; }
  // The period where it must be a number of steps; `key` names what needs it.
  std::uint64_t steps_of_period(const std::string& key) const;

  const Value period;  // steps, "end", or a list of [epoch, period]
  const double warm;   // epochs
  const std::string outer;
  const double outer_rate;
  const double outer_momentum;
  const double outer_beta2;
  const double outer_epsilon;
  const bool weighted;
  const double proximal;  // 0: no proximal term
  const bool scaffold;
  const std::int64_t fragments;
  const std::uint64_t delay;
  const double blend;
  const double elastic;  // 0: no elastic force
  const float centre_rate;
  const bool async;

 private:
  void check() const;
};

}  // namespace veche
