#pragma once

#include <cstdint>

#include "veche/train/views/state_pieces.h"
#include "veche/train/views/state_request.h"

namespace veche {

class StateDonor;

// Answers requests for a state that does not change meanwhile, and for the steps that lead on from
// it: for a newcomer in no view from a copy, in a view from the state itself.
class StateServer {
 public:
  // `copy`: the name of this state, which is that of `step`. `steps` keeps the steps; null: none.
  // All of them outlive the server.
  StateServer(const StateCut& state, std::uint64_t copy, std::uint64_t step, const StateDonor* steps)
      : state_(state), copy_(copy), step_(step), steps_(steps) {}

  // The content of a piece lies in the state.
  StateReply answer(const StateRequest& request) const;

 private:
  StateReply answer_step(const StateRequest& request) const;

  const StateCut& state_;
  const std::uint64_t copy_, step_;
  const StateDonor* const steps_;
};

}  // namespace veche
