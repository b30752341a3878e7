#pragma once

#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// The multiply-adds of convolutions and matrix products for one sample, counted where libtorch
// executes them; the rest is negligible. Parameter values do not matter.
std::int64_t multiply_adds(Network& network, const ModelSpec& spec);

// The same per link of a chain, and the link's output bytes per sample.
struct LinkCost {
  std::int64_t multiply_adds = 0;
  std::size_t output = 0;
};
std::vector<LinkCost> link_costs(Network& network, const ModelSpec& spec);

}  // namespace veche::torch_model
