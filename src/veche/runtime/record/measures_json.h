#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veche/measures.h"
#include "veche/report.h"

namespace veche {

// Measures in the files of a run (docs/runs.md), written and read here. Files of versions that knew
// classes only have neither "task" nor "measure", and count images.

// {"loss": .., "accuracy": ..}: every measure of the task that the result has. Of a test also "auc"
// of two classes.
nlohmann::ordered_json measures_json(const TestResult& result);
// The sums of a node, in the task of a test.
TestResult as_result(const Score& score, const TestResult& of_task);
// {"count": [..], "loss": [..], "accuracy": [..]}, by class.
nlohmann::ordered_json classes_json(const TestResult& result);

// "samples_per_second" or "tokens_per_second".
std::string throughput_key(Task task);
// The throughput in a line or summary, of any version; nullopt: it has none.
template <class Json>
std::optional<double> throughput_in(const Json& json) {
  for (const char* key : {"samples_per_second", "tokens_per_second", "images_per_second"})
    if (const auto found = json.find(key); found != json.end() && found->is_number())
      return found->template get<double>();
  return {};
}
// The task of a line or summary, of any version.
template <class Json>
Task task_in(const Json& json) {
  const auto found = json.find("task");
  if (found == json.end() || !found->is_string()) return Task::classification;
  return parse_task(found->template get<std::string>()).value_or(Task::classification);
}

}  // namespace veche
