#pragma once

#include "veche/saved_state.h"

namespace veche {

// A strategy whose checkpoints of earlier versions hold something else: these runs still resume.
class ReadsOlderState {
 public:
  virtual ~ReadsOlderState() = default;
  // Where such a checkpoint is read into, in its layout.
  virtual SavedState older_state() = 0;
  // It has been read, and the learner has its parameters: makes the present state of it.
  virtual void take_older_state() = 0;
};

}  // namespace veche
