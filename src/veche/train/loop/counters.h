#pragma once

#include <cstdint>

#include "veche/batch.h"
#include "veche/endpoint.h"

namespace veche {

// What a node counts while it trains: steps, scores, times, traffic and checkpoint numbers.
struct Counters {
  std::uint64_t step = 0;       // steps made
  std::uint64_t mean_step = 0;  // asynchronous runs: the mean of all nodes' steps, as last heard
  Score train;                  // since the last evaluation
  Score evaluated_train;        // `train` at the last evaluation
  Score since_progress;         // since the last progress report
  std::int64_t targets = 0;     // trained on by this process
  std::uint64_t lost = 0;       // steps whose results were lost (cluster.lose)
  // Sent by the strategy and, where the model is in stages, between stages. The channels count
  // while a node trains; these are up to date when the node is saved and when it is not training.
  Traffic sent;
  Traffic activations;  // and their gradients
  Time compute{0}, waiting{0}, communication{0}, training{0};
  std::uint64_t last_checkpoint = 0;    // number of the last one: the same state is not saved twice
  std::uint64_t newest_checkpoint = 0;  // numbers only grow

  // The step of the learning-rate schedule: fast nodes of an asynchronous run make more steps than
  // others, so there all nodes follow the mean.
  std::uint64_t schedule_step(bool shared_steps) const { return shared_steps ? mean_step : step; }
};

}  // namespace veche
