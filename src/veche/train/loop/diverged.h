#pragma once

#include "veche/errors.h"

namespace veche {

// Thrown when a loss or a model is no longer a number.
class Diverged : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace veche
