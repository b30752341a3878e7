#pragma once

// libtorch's headers take seconds each: precompiled once for the module, and as few as do the work.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
