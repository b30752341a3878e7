#include "veche/measures.h"

#include <fmt/format.h>

#include <array>

#include "veche/base/text/figures.h"

namespace veche {
namespace {

using Result = const TestResult&;

constexpr auto kLoss = [](Result r) { return std::optional(r.loss()); };

// All measures of all tasks are declared here and nowhere else.
constexpr std::array kClassification{
    Measure{"accuracy", "accuracy", "%", true, 1, [](Result r) { return std::optional(r.accuracy()); }},
    Measure{"loss", "loss", "", false, 0, kLoss},
    Measure{"auc", "AUC", "", true, 0, [](Result r) { return r.auc; }},
};
constexpr std::array kLanguage{
    Measure{"perplexity", "perplexity", "", false, 0, [](Result r) { return std::optional(r.perplexity()); }},
    Measure{"loss", "loss per token", "", false, 0, kLoss},
    Measure{"bits_per_token", "bits per token", "", false, 0,
            [](Result r) { return std::optional(r.bits_per_token()); }},
    Measure{"bits_per_character", "bits per character", "", false, 0,
            [](Result r) { return std::optional(r.bits_per_token() / r.characters_per_token); }},
    Measure{"accuracy", "accuracy of the next token", "%", true, 1,
            [](Result r) { return std::optional(r.accuracy()); }},
};
constexpr std::array kRegression{
    Measure{"rmse", "RMSE", "", false, 0, [](Result r) { return std::optional(r.rmse()); }},
    Measure{"loss", "loss", "", false, 0, kLoss},
    Measure{"r2", "R2", "", true, 0, [](Result r) { return std::optional(r.r2()); }},
    Measure{"mae", "MAE", "", false, 0, [](Result r) { return std::optional(r.mae()); }},
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
  if (measure.unit.empty()) return figures::plain(figures::three(value));
  return fmt::format("{} {}", figures::fixed(measure.scale() * value, measure.digits), measure.unit);
}

std::string shown(const Measure& measure, double value, double deviation, std::string_view between) {
  if (!measure.unit.empty())
    return fmt::format("{}{}{}", figures::fixed(measure.scale() * value, measure.digits), between,
                       shown(measure, deviation));
  std::string text = figures::three(value, deviation);
  constexpr std::string_view kBetween = " ± ";
  if (const std::size_t at = text.find(kBetween); at != std::string::npos)
    text.replace(at, kBetween.size(), between);
  return figures::plain(std::move(text));
}

}  // namespace veche
