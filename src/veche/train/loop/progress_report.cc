#include "veche/train/loop/progress_report.h"

#include <cmath>

namespace veche {

Progress summed(std::span<const ProgressReport> all, std::uint64_t step, double seconds, int stages) {
  Progress progress;
  progress.step = step;
  for (const ProgressReport& report : all) progress.train += report.train;
  const auto count = static_cast<std::size_t>(stages);
  const std::size_t in_each_stage = all.size() / count;
  const auto replicas = static_cast<double>(in_each_stage);
  double variance = 0;
  double norm = 0;
  for (std::size_t stage = 0; stage < count; ++stage) {
    std::array<double, kProgressSample> mean{};
    for (std::size_t node = stage; node < all.size(); node += count)
      for (std::size_t i = 0; i < kProgressSample; ++i)
        mean[i] += static_cast<double>(all[node].parameters[i]);
    for (std::size_t i = 0; i < kProgressSample; ++i) {
      mean[i] /= replicas;  // exactly what they all have, where they are equal
      norm += mean[i] * mean[i];
      for (std::size_t node = stage; node < all.size(); node += count) {
        const double difference = static_cast<double>(all[node].parameters[i]) - mean[i];
        variance += difference * difference / replicas;
      }
    }
  }
  progress.cv = norm == 0 ? std::sqrt(variance) : std::sqrt(variance / norm);
  progress.targets_per_second = seconds > 0 ? static_cast<double>(progress.train.count) / seconds : 0;
  return progress;
}

}  // namespace veche
