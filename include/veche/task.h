#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string_view>

namespace veche {

// What a model learns, and with it what its targets are and what is measured.
enum class Task : std::uint8_t {
  classification,  // a class per sample: accuracy, loss
  language,        // the next token, at every position: loss, perplexity, bits
  regression,      // a number per sample: RMSE, R2, MAE
};

inline constexpr std::array kAllTasks{Task::classification, Task::language, Task::regression};

inline std::string_view to_string(Task task) {
  if (task == Task::language) return "language";
  return task == Task::regression ? "regression" : "classification";
}
// The targets of a task, for messages: "its targets are classes".
inline std::string_view targets_of(Task task) {
  if (task == Task::language) return "tokens of a text";
  return task == Task::regression ? "numbers" : "classes";
}
// Returns nothing for any string that `to_string` does not return.
inline std::optional<Task> parse_task(std::string_view text) {
  for (const Task task : kAllTasks)
    if (text == to_string(task)) return task;
  return {};
}

// Sums over targets, not means, so that the scores of batches and nodes add up exactly.
struct Score {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;  // targets: samples, or tokens of a text
  // Task::regression, in the units of the targets: of the errors, and of the targets themselves.
  double error_sum = 0;  // absolute errors
  double squared_error_sum = 0;
  double target_sum = 0;
  double squared_target_sum = 0;

  double loss() const { return mean_of(loss_sum); }
  double accuracy() const { return mean_of(static_cast<double>(correct)); }
  double perplexity() const { return std::exp(loss()); }
  double bits_per_token() const { return loss() / std::numbers::ln2; }
  double mae() const { return mean_of(error_sum); }
  double rmse() const { return std::sqrt(mean_of(squared_error_sum)); }
  double r2() const {
    const double spread = squared_target_sum - target_sum * mean_of(target_sum);
    return spread <= 0 ? 0 : 1 - squared_error_sum / spread;
  }
  Score& operator+=(const Score& other) {
    loss_sum += other.loss_sum;
    correct += other.correct;
    count += other.count;
    error_sum += other.error_sum;
    squared_error_sum += other.squared_error_sum;
    target_sum += other.target_sum;
    squared_target_sum += other.squared_target_sum;
    return *this;
  }

 private:
  double mean_of(double sum) const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

}  // namespace veche
