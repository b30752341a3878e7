#pragma once

#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// The multiplications (each with its addition) of convolutions and matrix products while one image goes
// through the network, counted where libtorch carries them out; the rest is small beside them. The values of
// the parameters do not matter.
std::int64_t multiply_adds(Network& network, const Shape& input);

// The same of each link of a chain, and the bytes that it makes of a sample.
struct LinkCost {
  std::int64_t multiply_adds = 0;
  std::size_t output = 0;
};
std::vector<LinkCost> link_costs(Network& network, const Shape& input);

}  // namespace veche::torch_model
