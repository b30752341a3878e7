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

// "cpu", or "cuda": the visible devices, assigned to nodes round-robin. "copies" computes on the
// processor as if on a device, for tests; users cannot select it. Throws RequestError if there is
// no device.
Computes where_to_compute(const ModelSpec& spec);

}  // namespace veche::torch_model
