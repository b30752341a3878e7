#include "veche/train/views/run_end_message.h"

#include <algorithm>
#include <array>
#include <string>

#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

constexpr double kNotMeasured = -1;

// Followed by the scores of the classes and the reports of the nodes.
struct RunEndMessage {
  std::uint64_t step = 0;
  double seconds = 0, targets_per_second = 0, rate = 0, cv = 0, epochs = 0;
  Score average_model;
  Task task = Task::classification;
  double characters_per_token = 1;
  double auc = kNotMeasured;
  std::uint64_t classes = 0;
  std::array<char, 32> stopped = {};
};

constexpr std::size_t kMostReports = 1024;  // keeps the message below a megabyte

[[noreturn]] void fail_damaged(const std::string& from) {
  throw RunError(from + " sent a damaged report of the end of the run");
}

}  // namespace

Message message_of_end(const EndOfRun& end, MessagePool& pool) {
  const Evaluation& last = end.last;
  const TestResult& average = last.average_model;
  const RunEndMessage word{.step = last.step,
                           .seconds = last.seconds,
                           .targets_per_second = last.targets_per_second,
                           .rate = last.rate,
                           .cv = last.cv,
                           .epochs = end.epochs,
                           .average_model = average,
                           .task = average.task,
                           .characters_per_token = average.characters_per_token,
                           .auc = average.auc.value_or(kNotMeasured),
                           .classes = average.classes.size(),
                           .stopped = stop_reason_chars<32>(last.stopped)};
  const std::size_t reports = std::min(last.nodes.size(), kMostReports);
  return pack_bytes(pool, {bytes_of(word), std::as_bytes(std::span(average.classes)),
                           std::as_bytes(std::span(last.nodes).first(reports))});
}

EndOfRun end_in(const Message& message, const std::string& from) {
  const auto unpacked = try_unpack<RunEndMessage>(message);
  if (!unpacked) fail_damaged(from);
  const auto& [word, payload] = *unpacked;
  if (word.task > Task::regression || word.classes > payload.size() / sizeof(ClassScore)) fail_damaged(from);
  const std::size_t of_classes = word.classes * sizeof(ClassScore), of_nodes = payload.size() - of_classes;
  const std::optional<StopReason> stopped = parse_stop_reason(word.stopped);
  if (!stopped || of_nodes % sizeof(NodeReport) != 0) fail_damaged(from);
  EndOfRun end;
  end.epochs = word.epochs;
  Evaluation& last = end.last;
  last.step = word.step;
  last.seconds = word.seconds;
  last.targets_per_second = word.targets_per_second;
  last.rate = word.rate;
  last.cv = word.cv;
  last.stopped = *stopped;
  TestResult& average = last.average_model;
  average += word.average_model;
  average.task = word.task;
  average.characters_per_token = word.characters_per_token;
  if (word.auc >= 0) average.auc = word.auc;
  average.classes = copied_items<ClassScore>(payload.first(of_classes));
  last.nodes = copied_items<NodeReport>(payload.last(of_nodes));
  return end;
}

}  // namespace veche
