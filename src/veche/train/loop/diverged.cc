#include "veche/train/loop/diverged.h"

#include <cmath>

#include "veche/vector_math.h"

namespace veche {

void fail_diverged(const std::string& what, NodeId node, std::uint64_t step) {
  throw Diverged("the " + what + " of node " + std::to_string(node.value) + " is not a number at step " +
                 std::to_string(step) + ": lower optimizer.lr, or bound the gradient with optimizer.clip");
}

void check_loss(const Score& score, NodeId node, std::uint64_t step) {
  if (!std::isfinite(score.loss_sum)) fail_diverged("loss", node, step);
}

void check_parameters(std::span<const float> parameters, NodeId node, std::uint64_t step) {
  if (!std::isfinite(squared_norm(parameters))) fail_diverged("model", node, step);
}

}  // namespace veche
