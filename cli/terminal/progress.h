#pragma once

#include <chrono>
#include <string>

#include "cli/terminal/status_line.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {

// Shows a run on standard error: an updated line on a terminal, otherwise a plain line at
// intervals. Several runs may follow each other. Called by training threads: never throws because
// of standard error.
class ProgressView : public RunObserver {
 public:
  explicit ProgressView(bool quiet) : quiet_(quiet) {}

  // The title above the next run.
  void title(std::string text) { title_ = std::move(text); }
  // Whether the next run's seconds are virtual.
  void in_virtual_time(bool is) { virtual_time_ = is; }

  void on_start(const RunInfo& info) override;
  void on_view(const RunInfo& info) override { info_ = info; }
  void on_notice(const std::string& sentence) override;
  void on_progress(const Progress& progress) override;
  void on_measuring() override;
  void on_testing(double part) override;
  void on_evaluation(const Evaluation& evaluation) override;

 private:
  using Clock = std::chrono::steady_clock;

  std::string where(std::uint64_t step) const;

  const bool quiet_;
  std::string title_;
  bool virtual_time_ = false;
  RunInfo info_;
  Clock::time_point start_;
  Clock::time_point last_line_;
  Clock::time_point tested_;  // time of the last message about it
  double smooth_loss_ = 0;
  StatusLine status_;
  std::string before_, after_;  // the current line
  double part_ = 0;
};

}  // namespace veche::cli
