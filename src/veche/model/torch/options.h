#pragma once

#include "veche/model/torch/layers/norm.h"
#include "veche/model/zoo.h"

namespace veche::torch_model {

// The keys of [model] as networks read them. All functions throw RequestError naming the key.

NormChoice norm_of(const ModelSpec& spec);  // batch if the key is absent
double dropout_of(const ModelSpec& spec, double own);
double stochastic_depth_of(const ModelSpec& spec, double own);

// Whether a network designed for 224x224 pixels should keep the full resolution at its start.
bool small_stem(const ModelSpec& spec);

void require_pixels(const ModelSpec& spec, int least);

}  // namespace veche::torch_model
