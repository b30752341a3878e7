#include "veche/runtime/record/comparison_summary.h"

#include <algorithm>

#include "veche/runtime/record/spread.h"

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
    return over_runs([&](const Json& run) { return run.at(section).at(key).template get<double>(); });
  };
  Json json{{"variant", variant},
            {"runs", runs.size()},
            {"nodes", runs.front().at("nodes")},
            {"steps", of("steps").mean},
            {"virtual_time", runs.front().contains("wall_seconds")}};
  if (runs.front().contains("accuracy")) {
    const Spread mean = of_section("accuracy", "mean");
    json["accuracy"] = {{"mean", mean.mean},
                        {"std", runs.size() == 1 ? of_section("accuracy", "std").mean : mean.std},
                        {"average_model", of_section("accuracy", "average_model").mean}};
  }
  json["train_loss"] = of("train_loss").mean;
  json["images_per_second"] = of("images_per_second").mean;
  json["bytes_sent"] = of("bytes_sent").mean;
  if (runs.front().contains("compression"))
    for (const char* key : {"ratio", "remembered", "coding_seconds"})
      json["compression"][key] = of_section("compression", key).mean;
  json["seconds"] = {{"mean", of("seconds").mean}, {"std", of("seconds").std}};
  json["reached_target"] =
      std::ranges::all_of(runs, [](const Json& run) { return run.at("stopped") == "target_accuracy"; });
  return json;
}

}  // namespace veche
