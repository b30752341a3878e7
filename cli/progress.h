#pragma once

#include <chrono>
#include <string>

#include "veche/runtime/training.h"

namespace veche::cli {

std::string bar(double part);  // a bar of which this part is full

// Shows a run on standard error: one line that is drawn anew on a terminal, now and then a plain line
// elsewhere. Several runs may follow each other.
class ProgressView : public RunObserver {
 public:
  explicit ProgressView(bool quiet);

  void on_start(const RunInfo& info) override;
  void on_notice(const std::string& sentence) override;
  void on_progress(const Progress& progress) override;
  void on_measuring() override;
  void on_evaluation(const Evaluation& evaluation) override;

 private:
  using Clock = std::chrono::steady_clock;

  void line(const std::string& text);
  std::string where(std::uint64_t step) const;

  const bool quiet_;
  const bool terminal_;
  RunInfo info_;
  Clock::time_point start_;
  Clock::time_point last_line_;
  double smooth_loss_ = 0;
  bool drawn_ = false;
};

}  // namespace veche::cli
