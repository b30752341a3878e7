#include "veche/runtime/record/recorder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <utility>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/runtime/record/summary.h"

namespace veche {
namespace {

// Also removes the measurement at the end of the run, which is made again, and a line cut short by
// a kill.
void remove_after(const std::filesystem::path& file, std::uint64_t step) {
  std::ifstream in(file);
  if (!in) throw RunError(cannot_be(file, "read", errno));
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.value("step", ~std::uint64_t{0}) <= step && !json.contains("stopped"))
      kept += line + "\n";
  }
  if (in.bad()) throw RunError(cannot_be(file, "read", EIO));
  write_file(file, kept);
}

std::filesystem::path lines_until(const std::filesystem::path& file, std::uint64_t step) {
  if (std::filesystem::exists(file)) remove_after(file, step);
  return file;
}

}  // namespace

Recorder::Recorder(const RunFolder& folder, const RunInfo& info, RunObserver* next)
    : info_(info),
      next_(next),
      lines_(lines_until(folder.metrics(), info.first_step)),
      events_(folder.path(), info.first_step),
      progress_(folder.progress()),
      nodes_(folder.nodes()) {}

Recorder::~Recorder() {
  if (finished_) return;
  const std::string sentence = loss();
  if (!sentence.empty() && next_ != nullptr) next_->on_notice(sentence);
}

void Recorder::finish() {
  finished_ = true;
  if (const std::string sentence = loss(); !sentence.empty()) throw RunError(sentence);
}

std::string Recorder::loss() {
  std::string sentence;
  const auto look = [&](AppendFile& file, const char* records) {
    if (file.sync()) return;
    if (!sentence.empty()) sentence += "; ";
    sentence += file.why();
    if (file.missing() > 0) sentence += fmt::format(", so it lacks {} {}", file.missing(), records);
  };
  look(lines_, "measurements");
  look(events_.file(), "records");
  return sentence;
}

void Recorder::write_kept() {
  const bool lines = lines_.write_kept();
  const bool events = events_.file().write_kept();
  const bool behind = !lines || !events;
  if (behind == std::exchange(behind_, behind) || next_ == nullptr) return;
  next_->on_notice(
      behind ? fmt::format("{}; the run continues and keeps measurements in memory until they can be written",
                           (lines ? events_.file() : lines_).why())
             : lines_.path().string() + " is written again, and nothing was lost");
}

void Recorder::on_progress(const Progress& progress) {
  if (behind_) write_kept();
  progress_.add(progress);
  if (next_ != nullptr) next_->on_progress(progress);
}

void Recorder::on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) {
  nodes_.write(step, nodes);
}

void Recorder::on_measuring() {
  if (next_ != nullptr) next_->on_measuring();
}

void Recorder::on_testing(double part) {
  if (next_ != nullptr) next_->on_testing(part);
}

void Recorder::on_evaluation(const Evaluation& evaluation) {
  lines_.append(metrics_line(evaluation, info_.epoch(evaluation.step)).dump() + "\n");
  const Score train = total_train(evaluation);
  events_.scalar("train/loss", evaluation.step, train.loss());
  events_.scalar("train/accuracy", evaluation.step, train.accuracy());
  events_.scalar("learning_rate", evaluation.step, evaluation.rate);
  events_.scalar("disagreement/cv", evaluation.step, evaluation.cv);
  events_.scalar("images_per_second", evaluation.step, evaluation.images_per_second);
  events_.scalar("bytes_sent", evaluation.step, static_cast<double>(total_sent(evaluation).bytes));
  if (evaluation.average_model.count > 0) {
    events_.scalar("test/average_model/accuracy", evaluation.step, evaluation.average_model.accuracy());
    events_.scalar("test/average_model/loss", evaluation.step, evaluation.average_model.loss());
  }
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i) {
    const NodeReport& node = evaluation.nodes[i];
    const auto scalar = [&](const char* name, double value) {
      events_.scalar(fmt::format("{}/node{}", name, i), evaluation.step, value);
    };
    if (node.test.count > 0) scalar("test/accuracy", node.test.accuracy());
    if (node.test.count > 0) scalar("test/loss", node.test.loss());
    scalar("train/loss", node.train.loss());
    scalar("distance_from_mean/l2", std::sqrt(node.from_mean.l2_squared));
    scalar("distance_from_mean/linf", node.from_mean.linf);
  }
  events_.flush();
  write_kept();
  if (next_ != nullptr) next_->on_evaluation(evaluation);
}

}  // namespace veche
