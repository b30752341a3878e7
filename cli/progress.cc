#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/text.h"
#include "veche/runtime/summary.h"

namespace veche::cli {
namespace {

constexpr auto kBetweenPlainLines = std::chrono::seconds(10);

}  // namespace

std::string bar(double part) {
  constexpr int kBarWidth = 24;
  const int full = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * kBarWidth));
  std::string cells;
  for (int i = 0; i < kBarWidth; ++i) cells += i < full ? "█" : "░";
  return cells;
}

ProgressView::ProgressView(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressView::line(const std::string& text) {
  fmt::print(stderr, "{}{}\n", drawn_ ? "\r\033[K" : "", text);
  drawn_ = false;
}

void ProgressView::on_start(const RunInfo& info) {
  info_ = info;
  smooth_loss_ = 0;
  start_ = Clock::now();
  last_line_ = start_ - kBetweenPlainLines;  // that the first step was made is told at once
  if (quiet_) return;
  line(fmt::format("{}: {} parameters{}", info.model, with_commas(info.parameters),
                   info.data.empty() ? "" : " on " + info.data));
  line(fmt::format("{} node{}, {}{}", info.nodes, info.nodes == 1 ? "" : "s", info.strategy,
                   info.topology.empty() ? "" : " on " + info.topology));
  if (info.first_step > 0) line(fmt::format("resumed after step {} of {}", info.first_step, info.steps));
}

void ProgressView::on_notice(const std::string& sentence) { line("note: " + sentence); }

std::string ProgressView::where(std::uint64_t step) const {
  if (info_.steps_per_epoch == 0) return fmt::format("step {}/{}", step, info_.steps);
  return fmt::format("epoch {:.2f}/{:g}", static_cast<double>(step) / info_.steps_per_epoch,
                     static_cast<double>(info_.steps) / info_.steps_per_epoch);
}

void ProgressView::on_progress(const Progress& progress) {
  const auto now = Clock::now();
  if (progress.train.count > 0)
    smooth_loss_ =
        smooth_loss_ == 0 ? progress.train.loss() : 0.7 * smooth_loss_ + 0.3 * progress.train.loss();
  if (quiet_ || (!terminal_ && now - last_line_ < kBetweenPlainLines)) return;
  last_line_ = now;
  const auto done = static_cast<double>(progress.step - info_.first_step);
  const auto left = static_cast<double>(info_.steps - progress.step);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string numbers = fmt::format(
      "loss {:.4f}  {} {}/s  nodes differ {:.2f} %  {} left", smooth_loss_,
      with_commas(static_cast<std::uint64_t>(progress.images_per_second)),
      info_.data.empty() ? "steps" : "images", 100 * progress.cv, duration(elapsed / done * left));
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{} {} {}", where(progress.step),
               bar(static_cast<double>(progress.step) / static_cast<double>(info_.steps)), numbers);
    std::fflush(stderr);
    drawn_ = true;
  } else {
    line(where(progress.step) + "  " + numbers);
  }
}

void ProgressView::on_measuring() {
  if (quiet_ || !drawn_) return;
  fmt::print(stderr, "  measuring ...");
  std::fflush(stderr);
}

void ProgressView::on_evaluation(const Evaluation& evaluation) {
  if (quiet_) return;
  std::string text =
      where(evaluation.step) + fmt::format("  train loss {:.4f}", total_train(evaluation).loss());
  if (evaluation.average_model.count > 0)
    text +=
        fmt::format("  averaged model {:.2f} % on the test set", 100 * evaluation.average_model.accuracy());
  line(text + fmt::format("  nodes differ {:.3g} %", 100 * evaluation.cv));
}

}  // namespace veche::cli
