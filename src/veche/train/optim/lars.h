#pragma once

#include "veche/train/optim/optimizer.h"

namespace veche {

// Layer-wise adaptive rate scaling (You, Gitman, Ginsburg 2017): every layer steps in proportion to
// the length of its weights, so that large batches can take large rates.
//   ratio = trust |w| / (|g| + decay |w|);  v = momentum v + rate ratio (g + decay w);  w -= v
// A layer of length zero, or without gradient, has the ratio 1. With decay_norms = false norms and
// biases take plain steps: ratio 1, no decay.
std::unique_ptr<Optimizer> make_lars(const OptimizerSettings& settings, std::vector<LayerSpan> layers,
                                     const std::string& instead);

}  // namespace veche
