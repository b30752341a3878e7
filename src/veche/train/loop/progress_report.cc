#include "veche/train/loop/progress_report.h"

#include <cmath>

namespace veche {

Progress summed(std::span<const ProgressReport> all, std::uint64_t step, double seconds) {
  Progress progress;
  progress.step = step;
  std::array<double, kProgressSample> mean{};
  for (const ProgressReport& report : all) {
    progress.train += report.train;
    for (std::size_t i = 0; i < kProgressSample; ++i)
      mean[i] += static_cast<double>(report.parameters[i]) / static_cast<double>(all.size());
  }
  double variance = 0;
  double norm = 0;
  for (std::size_t i = 0; i < kProgressSample; ++i) {
    norm += mean[i] * mean[i];
    for (const ProgressReport& report : all) {
      const double difference = static_cast<double>(report.parameters[i]) - mean[i];
      variance += difference * difference / static_cast<double>(all.size());
    }
  }
  progress.cv = norm == 0 ? std::sqrt(variance) : std::sqrt(variance / norm);
  progress.images_per_second = seconds > 0 ? static_cast<double>(progress.train.count) / seconds : 0;
  return progress;
}

}  // namespace veche
