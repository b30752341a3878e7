#pragma once

#include "veche/model/torch/headers.h"
#include "veche/model/zoo.h"

namespace veche::torch_model {

// Where a network computes (model.device). On a device it has copies of the flat vectors and uses
// libtorch's own operations.
struct Computes {
  at::Device device = at::kCPU;
  bool on_copies = false;
};

// The visible CUDA devices are assigned to nodes round-robin. Throws RequestError if there is none.
Computes where_to_compute(const ModelSpec& spec);

}  // namespace veche::torch_model
