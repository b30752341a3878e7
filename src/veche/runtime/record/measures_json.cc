#include "veche/runtime/record/measures_json.h"

namespace veche {

nlohmann::ordered_json measures_json(const TestResult& result) {
  nlohmann::ordered_json json{{"loss", result.loss()}};
  for (const Measure& measure : measures_of(result.task))
    if (const auto value = measure.value(result)) json[std::string(measure.name)] = *value;
  return json;
}

TestResult as_result(const Score& score, const TestResult& of_task) {
  TestResult result;
  result += score;
  result.task = of_task.task;
  result.characters_per_token = of_task.characters_per_token;
  return result;
}

nlohmann::ordered_json classes_json(const TestResult& result) {
  nlohmann::ordered_json json;
  for (const ClassScore& of_class : result.classes) {
    json["count"].push_back(of_class.count);
    json["loss"].push_back(of_class.loss());
    json["accuracy"].push_back(of_class.accuracy());
  }
  return json;
}

std::string throughput_key(Task task) { return std::string(things_of(task)) + "_per_second"; }

}  // namespace veche
