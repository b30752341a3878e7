#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/base/keys.h"

namespace veche {

// Turns a gradient into new parameters, in one pass over the flat vectors. Belongs to one node.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  struct Step {
    double rate = 0;
    double gradient_scale = 1;  // clipping without a pass of its own
    std::uint64_t number = 0;   // of this update, from 1
  };
  // Writes the new parameters into `into`, which may be where the present ones are.
  virtual void update(std::span<float> into, std::span<const float> parameters,
                      std::span<const float> gradients, const Step& step) = 0;
  void update(std::span<float> parameters, std::span<const float> gradients, const Step& step) {
    update(parameters, parameters, gradients, step);
  }
  // What a checkpoint must keep.
  virtual std::vector<std::span<float>> state() = 0;
};

// `options` is the section [optimizer]; formulas and defaults are PyTorch's.
std::unique_ptr<Optimizer> make_optimizer(const Options& options, std::size_t parameters);

std::vector<std::string> optimizer_names();
// What people use when they do not say.
double default_rate(const std::string& optimizer);

}  // namespace veche
