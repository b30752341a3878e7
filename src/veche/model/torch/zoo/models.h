#pragma once

#include <functional>
#include <memory>
#include <string>

#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// One function per family. All throw RequestError if the input or an option does not fit.
std::shared_ptr<Network> make_cifar_resnet(const ModelSpec& spec, int depth);
std::shared_ptr<Network> make_cnn(const ModelSpec& spec);
std::shared_ptr<Network> make_convnext_tiny(const ModelSpec& spec);
std::shared_ptr<Network> make_efficientnet_v2_s(const ModelSpec& spec);
std::shared_ptr<Network> make_gpt(const ModelSpec& spec);
std::shared_ptr<Network> make_lenet5(const ModelSpec& spec);
std::shared_ptr<Network> make_mlp(const ModelSpec& spec);
std::shared_ptr<Network> make_mobilenet_v3_large(const ModelSpec& spec);
std::shared_ptr<Network> make_mobilenet_v3_small(const ModelSpec& spec);
std::shared_ptr<Network> make_resnet(const ModelSpec& spec, int depth, int width);
std::shared_ptr<Network> make_shufflenet_v2_x1_0(const ModelSpec& spec);
std::shared_ptr<Network> make_squeezenet1_0(const ModelSpec& spec);
std::shared_ptr<Network> make_squeezenet1_1(const ModelSpec& spec);
std::shared_ptr<Network> make_vit_tiny(const ModelSpec& spec);
std::shared_ptr<Network> make_wide_resnet(const ModelSpec& spec, const WideResNetName& name);

// The network of the spec's name. Refuses keys that it does not support and, if the `whole` network
// runs on this machine, a network that does not fit in memory.
std::shared_ptr<Network> make_network(const ModelSpec& spec, bool whole = true);

}  // namespace veche::torch_model
