#include "veche/model/torch/library/device.h"

#include <torch/cuda.h>

#include "veche/errors.h"

namespace veche::torch_model {

Computes where_to_compute(const ModelSpec& spec) {
  if (spec.settings.device == ComputeDevice::cpu) return {};
  if (spec.settings.device == ComputeDevice::copies) return {at::kCPU, true};
  const std::size_t devices = torch::cuda::device_count();
  if (devices == 0)
    throw RequestError(
        "model.device = \"cuda\": libtorch finds no CUDA device here (there is none, or it was built without "
        "CUDA); choose cpu");
  const auto index = static_cast<std::size_t>(spec.node.value) % devices;
  return {at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index)), true};
}

}  // namespace veche::torch_model
