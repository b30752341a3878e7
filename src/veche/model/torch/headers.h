#pragma once

// libtorch's headers take seconds each to compile, so the few that are needed are precompiled for
// the module.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
