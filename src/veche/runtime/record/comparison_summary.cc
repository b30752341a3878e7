#include "veche/runtime/record/comparison_summary.h"

#include <algorithm>
#include <limits>

#include "veche/runtime/record/measures_json.h"
#include "veche/runtime/record/spread.h"
#include "veche/stop_reason.h"

namespace veche {

nlohmann::ordered_json variant_summary(const std::string& variant,
                                       const std::vector<nlohmann::ordered_json>& runs) {
  using Json = nlohmann::ordered_json;
  const auto over_runs = [&](auto number) {
    std::vector<double> numbers;
    for (const Json& run : runs) numbers.push_back(number(run));
    return spread_of(numbers);
  };
  const auto of = [&](const char* key) {
    return over_runs([&](const Json& run) { return run.at(key).template get<double>(); });
  };
  const auto of_section = [&](const char* section, const char* key) {
    return over_runs([&](const Json& run) {
      const Json& value = run.at(section).at(key);
      return value.is_number() ? value.template get<double>() : std::numeric_limits<double>::infinity();
    });
  };
  Json json{{"variant", variant},
            {"runs", runs.size()},
            {"nodes", runs.front().at("nodes")},
            {"steps", of("steps").mean},
            {"virtual_time", runs.front().contains("wall_seconds")}};
  const Task task = task_in(runs.front());
  json["task"] = to_string(task);
  const std::string measure(main_measure(task).name);
  if (runs.front().contains(measure)) {
    const Spread mean = of_section(measure.c_str(), "mean");
    json["measure"] = measure;
    json[measure] = {{"mean", mean.mean},
                     {"std", runs.size() == 1 ? of_section(measure.c_str(), "std").mean : mean.std},
                     {"average_model", of_section(measure.c_str(), "average_model").mean}};
  }
  json["train_loss"] = of("train_loss").mean;
  json[throughput_key(task)] = of(throughput_key(task).c_str()).mean;
  json["bytes_sent"] = of("bytes_sent").mean;
  if (runs.front().contains("compression"))
    for (const char* key : {"ratio", "remembered", "coding_seconds"})
      json["compression"][key] = of_section("compression", key).mean;
  json["seconds"] = {{"mean", of("seconds").mean}, {"std", of("seconds").std}};
  json["reached_target"] = std::ranges::all_of(runs, [](const Json& run) {
    return is_target(parse_stop_reason(run.at("stopped").get<std::string>()).value_or(StopReason::none));
  });
  return json;
}

}  // namespace veche
