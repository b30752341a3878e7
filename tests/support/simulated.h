#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/network.h"
#include "tests/support/own_process.h"
#include "tests/support/train.h"
#include "veche/errors.h"
#include "veche/runtime/run/training.h"

namespace veche::testing {

using Parameters = std::vector<std::vector<float>>;
constexpr std::size_t kFew = 1000;  // of a node

struct Simulated {
  Parameters parameters;  // where they are few
  std::string stopped;
  double seconds = 0;
  std::vector<std::uint64_t> steps;  // of each node
  std::uint64_t bytes = 0, messages = 0;
  std::string failure;  // why there is nothing else
};

// A run in virtual time that leaves nothing behind, in a process of its own.
inline Simulated simulate(Config config, Network network = Network::quiet,
                          const std::function<std::unique_ptr<Learner>(NodeId)>& learner = {}) {
  config.set("cluster.transport=simulated");
  const std::string told = in_own_process([&] {
    nlohmann::json json;
    try {
      TrainingRequest request;
      request.settings = config.resolve();
      request.keep = false;
      request.learner = learner;
      if (network == Network::unlucky) request.network = unlucky();
      const RunResult result = run_training(request);
      json["parameters"] = result.parameters.front().size() > kFew ? Parameters{} : result.parameters;
      json["stopped"] = to_string(result.last.stopped);
      json["seconds"] = result.last.seconds;
      for (const NodeReport& node : result.last.nodes) {
        json["steps"].push_back(node.steps);
        json["bytes"] = json.value("bytes", std::uint64_t{0}) + node.sent.bytes;
        json["messages"] = json.value("messages", std::uint64_t{0}) + node.sent.messages;
      }
    } catch (const Error& error) {
      json["failure"] = error.what();
    }
    return json.dump();
  });
  const nlohmann::json json = nlohmann::json::parse(told);
  Simulated run;
  run.failure = json.value("failure", "");
  if (!run.failure.empty()) return run;
  json.at("parameters").get_to(run.parameters);
  json.at("stopped").get_to(run.stopped);
  json.at("seconds").get_to(run.seconds);
  json.at("steps").get_to(run.steps);
  json.at("bytes").get_to(run.bytes);
  json.at("messages").get_to(run.messages);
  return run;
}

inline Config configured(const Assignments& assignments) {
  Config config;
  for (const std::string& assignment : assignments) config.set(assignment);
  return config;
}

}  // namespace veche::testing
