#include "veche/runtime/record/recorder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <utility>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/runtime/record/measures_json.h"
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
      samples_file_(lines_until(folder.samples(), info.first_step)),
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
  if (samples_) look(*samples_, "texts");
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
  progress_.add(progress, info_.task);
  if (next_ != nullptr) next_->on_progress(progress);
}

void Recorder::on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) {
  nodes_.write(step, nodes, members_);
}

void Recorder::on_measuring() {
  if (next_ != nullptr) next_->on_measuring();
}

void Recorder::on_testing(double part) {
  if (next_ != nullptr) next_->on_testing(part);
}

void Recorder::on_evaluation(const Evaluation& evaluation) {
  if (!evaluation.sample.empty()) {
    if (!samples_) samples_.emplace(samples_file_);
    const nlohmann::ordered_json sample{{"step", evaluation.step}, {"text", evaluation.sample}};
    samples_->append(sample.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  const auto line = metrics_line(evaluation, info_.epoch(evaluation.step), members_);
  lines_.append(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  const std::uint64_t step = evaluation.step;
  const TestResult& average = evaluation.average_model;
  const auto measures = [&](const std::string& place, const TestResult& result, const std::string& of = "") {
    if (result.count == 0) return;
    for (const Measure& measure : measures_of(average.task))
      if (const auto value = measure.value(result))
        events_.scalar(fmt::format("{}/{}{}", place, measure.name, of), step, *value);
  };
  measures("train", as_result(total_train(evaluation), average));
  events_.scalar("learning_rate", step, evaluation.rate);
  events_.scalar("disagreement/cv", step, evaluation.cv);
  events_.scalar(throughput_key(average.task), step, evaluation.targets_per_second);
  events_.scalar("bytes_sent", step, static_cast<double>(total_sent(evaluation).bytes));
  measures("test/average_model", average);
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i) {
    const NodeReport& node = evaluation.nodes[i];
    const std::string of = fmt::format("/node{}", i);
    measures("test", as_result(node.test, average), of);
    events_.scalar("train/loss" + of, step, node.train.loss());
    events_.scalar("distance_from_mean/l2" + of, step, std::sqrt(node.from_mean.l2_squared));
    events_.scalar("distance_from_mean/linf" + of, step, node.from_mean.linf);
  }
  events_.flush();
  write_kept();
  if (next_ != nullptr) next_->on_evaluation(evaluation);
}

}  // namespace veche
