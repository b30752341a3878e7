#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "web/watch/places.h"

namespace veche::web {

// A missing value is NaN in all of these. `accuracy` is the main measure of the run's task: also
// the perplexity of a text, or the RMSE of numbers.

// One measurement: all nodes together.
struct Measurement {
  double step, seconds, bytes, epoch, rate, speed, loss, accuracy, test_loss, cv, mean, std;
  double present;                            // nodes measured
  double computing, waiting, communicating;  // shares of the time since the last measurement
  double staleness;                          // mean over the nodes
};

// Progress between measurements.
struct Going {
  double step, loss, cv, speed;
};

// One node at one measurement. Steps, times and bytes are cumulative.
struct NodeAt {
  float accuracy, loss, distance, steps, computing, waiting, communicating, bytes, staleness;
  bool present = true;  // else it was not measured here: the numbers are those known last
};

// A number in a line of a run's file; NaN if absent.
double value_of(const nlohmann::json& json, const char* key, const char* inner = nullptr);

// Reads a line of metrics.jsonl into both; `nodes` are by place. `before`: the measurement before,
// with its nodes; null for the first.
void read_measurement(const nlohmann::json& line, const Measurement* before,
                      std::span<const NodeAt> nodes_before, Places& places, Measurement& at,
                      std::vector<NodeAt>& nodes);
Going read_progress(const nlohmann::json& line);

// What a node did since `before`, which is null for the first time; all of it if it began anew
// meanwhile.
double since(float NodeAt::*number, const NodeAt* before, const NodeAt& now);

// Shares of computing, waiting and communicating between two measurements; NaN if no time passed.
struct Shares {
  double computing, waiting, communicating;
};
Shares shares_since(const NodeAt* before, const NodeAt& now);

// Whether a node that is still measured made no step since the measurement before while others did.
bool stands(std::span<const NodeAt> before, std::span<const NodeAt> now, std::size_t node);

}  // namespace veche::web
