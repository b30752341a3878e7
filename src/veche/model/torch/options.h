#pragma once

#include "veche/model/torch/layers/norm.h"
#include "veche/model/zoo.h"

namespace veche::torch_model {

// The keys of [model] as networks read them. All throw RequestError, which names the key.

NormChoice norm_of(const ModelSpec& spec);  // batch when the key is absent
double dropout_of(const ModelSpec& spec, double own);
double stochastic_depth_of(const ModelSpec& spec, double own);

// Whether a network that was drawn up for 224x224 pixels is to keep the resolution where it begins.
bool small_stem(const ModelSpec& spec);

void require_pixels(const ModelSpec& spec, int least);

}  // namespace veche::torch_model
