#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "veche/batch.h"
#include "veche/errors.h"
#include "veche/node_id.h"

namespace veche {

// Thrown when a loss or a model is no longer a number.
class Diverged : public RunError {
 public:
  using RunError::RunError;
};

[[noreturn]] void fail_diverged(const std::string& what, NodeId node, std::uint64_t step);
// Throw Diverged unless the loss, or every parameter, is a finite number. Parameters are checked
// before they are measured or saved: a checkpoint of a diverged model is worthless.
void check_loss(const Score& score, NodeId node, std::uint64_t step);
void check_parameters(std::span<const float> parameters, NodeId node, std::uint64_t step);

}  // namespace veche
