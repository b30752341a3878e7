#include "veche/comm/sim/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr double kShortest = 1e-3;  // seconds per repetition: shorter ones would take for ever to simulate

std::optional<double> number(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != 0 || !std::isfinite(value)) return {};
  return value;
}

std::optional<double> amount(const std::string& word) {
  const std::optional<double> value = number(word);
  return value && *value >= 0 ? value : std::nullopt;
}

bool is_state(SimProfile::Of of) {
  return of == SimProfile::Of::host_state || of == SimProfile::Of::link_state;
}

}  // namespace

void read_profile(const std::string& text, double period, SimProfile& profile) {
  std::istringstream lines(text);
  std::optional<double> after;
  std::string line;
  for (int at = 1; std::getline(lines, line); ++at) {
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    if (first.empty() || first[0] == '#' || first[0] == '%') continue;
    if (first == "STOCHASTIC")
      throw RequestError(fmt::format(
          "line {} draws times at random, which is not read: network.loss_of_nodes = {{every = \"1h\"}} does "
          "so for hosts",
          at));
    // Anything not above 0 means off.
    const std::optional<double> given = number(second);
    const std::optional<double> value =
        is_state(profile.of) && given ? std::max(*given, 0.0) : amount(second);
    if (first == "PERIODICITY" || first == "LOOPAFTER") {
      if (!value || !third.empty()) throw RequestError(fmt::format("line {} has no period in seconds", at));
      (first == "LOOPAFTER" ? after.emplace() : period) = *value;
      continue;
    }
    const std::optional<double> time = amount(first);
    if (!time || !value || !third.empty())
      throw RequestError(fmt::format("line {} is not a time in seconds and a value, both at least 0", at));
    if (!profile.points.empty() && *time < profile.points.back().first)
      throw RequestError(fmt::format("line {} is earlier than the line before", at));
    if (*value == 0 && profile.of == SimProfile::Of::bandwidth)
      throw RequestError(
          fmt::format("line {} is a bandwidth of 0: a link that is down for a while has a state_file", at));
    profile.points.emplace_back(*time, *value);
  }
  if (profile.points.empty()) throw RequestError("it has no line with a time and a value");
  if (after) period = profile.points.back().first + *after;
  if (period <= 0) return;
  if (period < profile.points.back().first)
    throw RequestError(fmt::format("it repeats after {:g} s, before its last change at {:g} s", period,
                                   profile.points.back().first));
  if (period < kShortest)
    throw RequestError(fmt::format("it repeats every {:g} s; the minimum is {:g} s", period, kShortest));
  profile.period = period;
}

}  // namespace veche
