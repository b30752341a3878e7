#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace veche {

// Why a run has ended. Summaries, metrics and messages hold the string; programs compare the value.
enum class StopReason {
  none,             // it goes on
  steps,            // every step is made
  target_accuracy,  // the averaged model is as good as run.target_accuracy
  target,           // the averaged model is as good as run.target
  interrupted,      // the user stopped it; the run can be resumed
  samples,          // no learner has samples left (DrivenLearner)
};

inline std::string to_string(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      break;
    case StopReason::steps:
      return "steps";
    case StopReason::target_accuracy:
      return "target_accuracy";
    case StopReason::target:
      return "target";
    case StopReason::interrupted:
      return "interrupted";
    case StopReason::samples:
      return "samples";
  }
  return "";
}

// Whether the run has ended since its model is good enough.
inline bool is_target(StopReason reason) {
  return reason == StopReason::target || reason == StopReason::target_accuracy;
}

// Returns nothing for any string that `to_string` does not return.
inline std::optional<StopReason> parse_stop_reason(std::string_view text) {
  for (const StopReason reason : {StopReason::none, StopReason::steps, StopReason::target_accuracy,
                                  StopReason::target, StopReason::interrupted, StopReason::samples})
    if (text == to_string(reason)) return reason;
  return {};
}

// The string in a message of fixed size, padded with zeros.
template <std::size_t size>
std::array<char, size> stop_reason_chars(StopReason reason) {
  const std::string text = to_string(reason);
  std::array<char, size> chars = {};
  std::copy_n(text.begin(), std::min(text.size(), size - 1), chars.begin());
  return chars;
}
template <std::size_t size>
std::optional<StopReason> parse_stop_reason(const std::array<char, size>& chars) {
  return parse_stop_reason(std::string_view(chars.data(), std::ranges::find(chars, '\0') - chars.begin()));
}

inline std::ostream& operator<<(std::ostream& out, StopReason reason) {
  return out << '"' << to_string(reason) << '"';
}

}  // namespace veche
