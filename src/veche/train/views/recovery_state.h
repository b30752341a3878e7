#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "veche/train/views/kept_work.h"

namespace veche {

class StateDonor;

// What a member keeps from one view to the next, besides its model and counters.
struct RecoveryState {
  bool has_state = true;                   // false: its model was never trained
  bool is_new = false;                     // it was in no view yet
  KeptWork work;                           // of a step that was cut off
  double made_scale = 0;                   // clipping factor of the last step made; 0: not known
  std::vector<std::vector<float>> common;  // the strategy's state that is equal on all nodes
  std::vector<std::vector<float>> own;     // the strategy's state that is this node's alone
  std::vector<float> unpushed;             // sum of the gradients that no server has been sent
  std::shared_ptr<StateDonor> donor;       // gives the state to newcomers; may be null
  std::map<std::uint64_t, std::vector<std::byte>> fetched;  // pieces of an incomplete state, by hash

  // What the end of a view may cut off.
  std::uint64_t last_evaluation = 0;  // step
  bool measured_end = false;          // the last evaluation was that of the run's end
  bool reached_target = false;        // the run has to end
  bool evaluates_first = false;       // all members agreed to evaluate before the first step ..
  bool saves_first = false;           // .. and to save
};

}  // namespace veche
