#include "cli/terminal/progress.h"

#include <fmt/format.h>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/runtime/record/summary.h"

namespace veche::cli {
namespace {

constexpr auto kBetweenProgressLines = std::chrono::seconds(10);
constexpr auto kBetweenDrawings = std::chrono::milliseconds(300);

// "97.31 %", "perplexity 5.127", and the AUC of two classes.
std::string main_result(const TestResult& result) {
  const Measure& measure = main_measure(result.task);
  std::string text = measure.unit.empty() ? std::string(measure.title) + " " : "";
  text += shown(measure, *measure.value(result));
  if (result.auc) text += ", AUC " + shown(*find_measure("auc"), *result.auc);
  return text;
}

}  // namespace

void ProgressView::on_start(const RunInfo& info) {
  info_ = info;
  smooth_loss_ = 0;
  start_ = Clock::now();
  last_line_ = start_ - kBetweenProgressLines;  // show the first step at once
  if (quiet_) return;
  if (!title_.empty()) status_.line(title_);
  status_.line(fmt::format("{}: {} parameters{}", info.model, with_commas(info.parameters),
                           info.data.empty() ? "" : " on " + info.data));
  status_.line(fmt::format("{} node{}, {}{}", info.nodes, info.nodes == 1 ? "" : "s", info.strategy,
                           info.topology.empty() ? "" : " on " + info.topology));
  if (info.first_step > 0)
    status_.line(fmt::format("resumed after step {} of {}", info.first_step, info.steps));
}

void ProgressView::on_notice(const std::string& sentence) { status_.line("note: " + one_line(sentence)); }

std::string ProgressView::where(std::uint64_t step) const {
  if (info_.steps_per_epoch == 0) return fmt::format("step {}/{}", step, info_.steps);
  return "epoch " + epochs(info_.epoch(step), info_.epoch(info_.steps));
}

void ProgressView::on_progress(const Progress& progress) {
  const auto now = Clock::now();
  if (progress.train.count > 0)
    smooth_loss_ =
        smooth_loss_ == 0 ? progress.train.loss() : 0.7 * smooth_loss_ + 0.3 * progress.train.loss();
  if (quiet_ || (!status_.on_terminal() && now - last_line_ < kBetweenProgressLines)) return;
  last_line_ = now;
  const auto done = static_cast<double>(progress.step - info_.first_step);
  const auto left = static_cast<double>(info_.steps - progress.step);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string numbers =
      fmt::format("loss {:.4f}  {} {}/{}  nodes differ {:.2f} %  {} left", smooth_loss_,
                  with_commas(static_cast<std::uint64_t>(progress.targets_per_second)),
                  info_.data.empty() ? "steps" : things_of(info_.task), virtual_time_ ? "virtual s" : "s",
                  100 * progress.cv, duration(elapsed / done * left));
  if (!status_.on_terminal()) return status_.line(where(progress.step) + "  " + numbers);
  before_ = where(progress.step);
  part_ = static_cast<double>(progress.step) / static_cast<double>(info_.steps);
  after_ = numbers;
  status_.draw(before_, part_, after_);
}

void ProgressView::on_measuring() {
  tested_ = Clock::now();  // skip short evaluations
  if (!quiet_ && status_.drawn()) status_.draw(before_, part_, after_ + "  measuring ...");
}

void ProgressView::on_testing(double part) {
  const auto now = Clock::now();
  if (quiet_ || now - tested_ < (status_.on_terminal() ? Clock::duration(kBetweenDrawings)
                                                       : Clock::duration(kBetweenProgressLines)))
    return;
  tested_ = now;
  const std::string text = fmt::format("testing {:.0f} %", 100 * part);
  if (status_.on_terminal())
    status_.draw(text, part, before_);
  else
    status_.line(text);
}

void ProgressView::on_evaluation(const Evaluation& evaluation) {
  if (quiet_) return;
  std::string text =
      where(evaluation.step) + fmt::format("  train loss {:.4f}", total_train(evaluation).loss());
  if (evaluation.average_model.count > 0)
    text += fmt::format("  averaged model {} on the test set", main_result(evaluation.average_model));
  status_.line(text + fmt::format("  nodes differ {:.3g} %", 100 * evaluation.cv));
}

}  // namespace veche::cli
