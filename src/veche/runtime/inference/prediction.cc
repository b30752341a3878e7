#include "veche/runtime/inference/prediction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace veche {

std::vector<std::size_t> ranked(std::span<const float> probabilities, std::size_t most) {
  std::vector<std::size_t> labels(probabilities.size());
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  const auto end = labels.begin() + static_cast<std::ptrdiff_t>(std::min(most, labels.size()));
  std::partial_sort(labels.begin(), end, labels.end(), [&](std::size_t a, std::size_t b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  labels.erase(end, labels.end());
  return labels;
}

nlohmann::ordered_json prediction_json(const ModelInput& input, std::span<const float> probabilities,
                                       std::size_t most) {
  if (input.task == Task::regression) return {{"value", probabilities[0]}};
  const auto one = [&](std::size_t label) {
    return nlohmann::ordered_json{
        {"class", input.name_of(label)}, {"label", label}, {"probability", probabilities[label]}};
  };
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const std::size_t label : ranked(probabilities, std::max<std::size_t>(most, 1)))
    classes.push_back(one(label));
  nlohmann::ordered_json json = classes.front();
  json["classes"] = std::move(classes);
  return json;
}

}  // namespace veche
