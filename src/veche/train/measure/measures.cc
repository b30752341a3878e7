#include "veche/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>

namespace veche {
namespace {

using Result = const TestResult&;

constexpr auto kLoss = [](Result r) { return std::optional(r.loss()); };

// All measures of all tasks are declared here and nowhere else.
constexpr std::array kClassification{
    Measure{"accuracy", "accuracy", "%", true, 2, [](Result r) { return std::optional(r.accuracy()); }},
    Measure{"loss", "loss", "", false, 4, kLoss},
    Measure{"auc", "AUC", "", true, 4, [](Result r) { return r.auc; }},
};
constexpr std::array kLanguage{
    Measure{"perplexity", "perplexity", "", false, 3, [](Result r) { return std::optional(r.perplexity()); }},
    Measure{"loss", "loss per token", "", false, 4, kLoss},
    Measure{"bits_per_token", "bits per token", "", false, 4,
            [](Result r) { return std::optional(r.bits_per_token()); }},
    Measure{"bits_per_character", "bits per character", "", false, 4,
            [](Result r) { return std::optional(r.bits_per_token() / r.characters_per_token); }},
    Measure{"accuracy", "accuracy of the next token", "%", true, 2,
            [](Result r) { return std::optional(r.accuracy()); }},
};
constexpr std::array kRegression{
    Measure{"rmse", "RMSE", "", false, 4, [](Result r) { return std::optional(r.rmse()); }},
    Measure{"loss", "loss", "", false, 4, kLoss},
    Measure{"r2", "R2", "", true, 4, [](Result r) { return std::optional(r.r2()); }},
    Measure{"mae", "MAE", "", false, 4, [](Result r) { return std::optional(r.mae()); }},
};

}  // namespace

std::span<const Measure> measures_of(Task task) {
  if (task == Task::language) return kLanguage;
  if (task == Task::regression) return kRegression;
  return kClassification;
}

const Measure* find_measure(std::string_view name) {
  for (const Task task : kAllTasks)
    for (const Measure& measure : measures_of(task))
      if (measure.name == name) return &measure;
  return nullptr;
}

std::string shown(const Measure& measure, double value) {
  const std::string number = fmt::format("{:.{}f}", measure.scale() * value, measure.digits);
  return measure.unit.empty() ? number : fmt::format("{} {}", number, measure.unit);
}

std::string shown(const Measure& measure, double value, double deviation, std::string_view between) {
  return fmt::format("{:.{}f}{}{}", measure.scale() * value, measure.digits, between,
                     shown(measure, deviation));
}

}  // namespace veche
