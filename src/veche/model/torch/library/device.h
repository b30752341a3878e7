#pragma once

#include "veche/model/torch/headers.h"
#include "veche/model/zoo.h"

namespace veche::torch_model {

// Where a network computes, by model.device. Away from the flat vectors it has copies of them, and libtorch's
// own operations do the work.
struct Computes {
  at::Device device = at::kCPU;
  bool away = false;
};

// "cpu", or "cuda": the devices that this process sees, one node after the other. "copies" computes as if on
// a device, on the processor: what can be tested without one; the key does not offer it. Throws RequestError
// where there is no device.
Computes where_to_compute(const ModelSpec& spec);

}  // namespace veche::torch_model
