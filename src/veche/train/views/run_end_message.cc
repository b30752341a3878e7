#include "veche/train/views/run_end_message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

// Followed by the reports of the nodes.
struct RunEndMessage {
  std::uint64_t step = 0;
  double seconds = 0, images_per_second = 0, rate = 0, cv = 0, epochs = 0;
  Score average_model;
  std::array<char, 32> stopped = {};
};

constexpr std::size_t kMostReports = 1024;  // keeps the message below a megabyte

[[noreturn]] void fail_damaged(const std::string& from) {
  throw RunError(from + " sent a damaged report of the end of the run");
}

}  // namespace

Message message_of_end(const EndOfRun& end, MessagePool& pool) {
  const Evaluation& last = end.last;
  const RunEndMessage word{
      last.step, last.seconds, last.images_per_second, last.rate,
      last.cv,   end.epochs,   last.average_model,     stop_reason_chars<32>(last.stopped)};
  const std::size_t reports = std::min(last.nodes.size(), kMostReports);
  return pack(pool, word, std::as_bytes(std::span(last.nodes).first(reports)));
}

EndOfRun end_in(const Message& message, const std::string& from) {
  const auto unpacked = try_unpack<RunEndMessage>(message);
  if (!unpacked || unpacked->payload.size() % sizeof(NodeReport) != 0) fail_damaged(from);
  const auto& [word, reports] = *unpacked;
  const std::optional<StopReason> stopped = parse_stop_reason(word.stopped);
  if (!stopped) fail_damaged(from);
  EndOfRun end;
  end.epochs = word.epochs;
  end.last = {word.step,
              word.seconds,
              word.images_per_second,
              word.rate,
              word.average_model,
              word.cv,
              std::vector<NodeReport>(reports.size() / sizeof(NodeReport)),
              *stopped};
  if (!reports.empty()) std::memcpy(end.last.nodes.data(), reports.data(), reports.size());
  return end;
}

}  // namespace veche
