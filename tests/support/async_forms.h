#pragma once

#include <algorithm>
#include <cctype>

#include "tests/support/train.h"

namespace veche::testing {

// Every form of every asynchronous strategy.
inline std::vector<Assignments> async_variants() {
  return {
      {"strategy.name=parameter-server", "strategy.update=async"},
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.servers=3"},
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.fanout=1", "strategy.damp=true"},
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.compensate=0.1"},
      {"strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=2"},
      {"strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=1", "strategy.servers=2",
       "strategy.fanout=2"},
      {"strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=inf"},
      {"strategy.name=parameter-server", "strategy.backup=1"},
      {"strategy.name=parameter-server", "strategy.backup=1", "strategy.servers=2", "strategy.fanout=2"},
      {"strategy.name=local-sgd", "strategy.update=async", "strategy.period=3"},
      {"strategy.name=local-sgd", "strategy.update=async", "strategy.period=2", "strategy.outer=nesterov",
       "strategy.outer_momentum=0.3"},
      {"strategy.name=local-sgd", "strategy.update=async", "strategy.period=2", "strategy.elastic=0.2"},
      {"strategy.name=gossip", "strategy.async=true"},
      {"strategy.name=consensus", "strategy.async=true"},
      {"strategy.name=consensus", "strategy.async=true", "strategy.max_age=2", "topology.graph=star"},
      {"strategy.name=hogwild"}};
}

inline std::string name_of(const Assignments& variant) {
  std::string name;
  for (const std::string& assignment : variant) name += assignment.substr(assignment.find('.') + 1) + " ";
  return name;
}

// The variant as part of a test's name.
inline std::string test_name_of(const Assignments& variant) {
  std::string name;
  for (const std::string& assignment : variant) {
    const std::string key = assignment.substr(assignment.find('.') + 1);
    name += (name.empty() ? "" : "_") + (key.starts_with("name=") ? key.substr(5) : key);
  }
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace veche::testing
