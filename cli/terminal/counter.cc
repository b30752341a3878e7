#include "cli/terminal/counter.h"

#include <fmt/format.h>

#include "cli/terminal/text.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
constexpr auto kBetweenPlainLines = std::chrono::seconds(10);

}  // namespace

Counter::Counter(std::string what, std::string unit, bool quiet)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      quiet_(quiet),
      start_(Clock::now()),
      last_(status_.on_terminal() ? Clock::time_point() : start_) {}

void Counter::show(std::uint64_t done, std::uint64_t all) {
  if (interrupts_.asked()) throw RunError("interrupted while " + what_);
  if (quiet_) return;
  const auto now = Clock::now();
  const auto between = status_.on_terminal() ? Clock::duration(kBetweenDrawings) : kBetweenPlainLines;
  if (now - last_ < between) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const bool is_bytes = unit_ == "bytes";
  const auto amount = [&](double count) {
    return is_bytes ? bytes(count) : with_commas(static_cast<std::uint64_t>(count));
  };
  std::string text = fmt::format("{} {}{}  {}{}/s", what_, amount(static_cast<double>(done)),
                                 all == 0 ? "" : " of " + amount(static_cast<double>(all)), amount(rate),
                                 is_bytes ? "" : " " + unit_);
  if (all > 0 && rate > 0) text += fmt::format("  {} left", duration(static_cast<double>(all - done) / rate));
  if (!status_.on_terminal()) return status_.line(text);
  if (all == 0) return status_.draw(text);
  status_.draw("", static_cast<double>(done) / static_cast<double>(all), text);
}

}  // namespace veche::cli
