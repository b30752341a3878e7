#pragma once

#include <cstdint>

#include "veche/comm/sim/sim.h"
#include "veche/config.h"
#include "veche/learner.h"
#include "veche/model_spec.h"

namespace veche {

inline constexpr double kForwardAndBackward = 3;  // times the forward pass

// What [network] says of a run in virtual time.
struct SimulationPlan {
  SimNetwork network;
  double flops_per_sample = 0;   // of a pass, forward and backward, by the measure of network.speed
  bool learns = true;            // false: no gradients, short vectors stand for the model's
  std::size_t parameters = 0;    // of the model; known where it does not learn
  std::size_t short_length = 0;  // of the vectors then
};

// `model` says what the nodes train, with the input of its data set.
SimulationPlan plan_simulation(const Settings& settings, const ModelSpec& model);

// A learner that learns nothing: all of one run share `vectors`, in which everything stays zero.
std::unique_ptr<Learner> make_stand_in(std::shared_ptr<std::vector<float>> vectors);

}  // namespace veche
