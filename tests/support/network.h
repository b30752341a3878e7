#pragma once

#include "veche/comm/faulty/faulty.h"
#include "veche/config.h"
#include "veche/runtime/run/training.h"

namespace veche::testing {

enum class Network { quiet, unlucky };  // the second delays messages and lets them overtake each other

inline std::function<std::unique_ptr<Endpoint>(std::unique_ptr<Endpoint>)> unlucky() {
  return [](auto inner) {
    return make_faulty(
        std::move(inner),
        {.delay_probability = 0.05, .longest_delay = Time(0.001), .overtake_probability = 0.2});
  };
}

// A run without a folder, on the nodes of `job` or, without one, on threads.
inline RunResult train_over(Network network, const Config& config, Job* job = nullptr) {
  TrainingRequest request;
  request.settings = config.resolve();
  request.keep = false;
  request.job = job;
  if (network == Network::unlucky) request.network = unlucky();
  return run_training(request);
}

}  // namespace veche::testing
