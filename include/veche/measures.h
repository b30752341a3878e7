#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/export.h"
#include "veche/task.h"

namespace veche {

// Sums over the test samples of one class.
struct ClassScore {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;

  double loss() const { return count == 0 ? 0 : loss_sum / static_cast<double>(count); }
  double accuracy() const {
    return count == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(count);
  }
};

// What a test of a model has found; every measure of its task follows from this.
struct TestResult : Score {
  Task task = Task::classification;
  double characters_per_token = 1;       // Task::language
  std::optional<double> auc = {};        // of two classes, if the learner tells the score of each sample
  std::vector<ClassScore> classes = {};  // by class, if the learner tells the loss of each sample
};

// One number that says how good a model is.
struct Measure {
  std::string_view name;   // as in run.target, metrics.jsonl and summary.json: "perplexity"
  std::string_view title;  // for people: "perplexity"
  std::string_view unit;   // "%": shown times 100; empty: none
  bool up = false;         // whether a larger one is better
  int digits = 0;          // after the point, of a value with a unit; others: three significant
  std::optional<double> (*value)(const TestResult& result) = nullptr;  // none: not measured

  double scale() const { return unit == "%" ? 100 : 1; }  // of what people see
};

// The measures of a task; the first is the main one, which run.target means by a plain number.
VECHE_API std::span<const Measure> measures_of(Task task);
inline const Measure& main_measure(Task task) { return measures_of(task).front(); }
// Of any task; null if there is none of this name.
VECHE_API const Measure* find_measure(std::string_view name);

// A value for people: "97.3 %", "5.13".
VECHE_API std::string shown(const Measure& measure, double value);
// With a deviation: "97.3 +- 0.2 %".
VECHE_API std::string shown(const Measure& measure, double value, double deviation,
                            std::string_view between = " +- ");

// The words for what a task trains on, for throughput: "samples" or "tokens".
inline std::string_view things_of(Task task) { return task == Task::language ? "tokens" : "samples"; }

}  // namespace veche
