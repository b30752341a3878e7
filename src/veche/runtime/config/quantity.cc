#include "veche/runtime/config/quantity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"

namespace veche {
namespace {

struct Unit {
  std::string name;
  double factor;
};

const std::vector<Unit>& bandwidths() {
  static const std::vector<Unit> units = {
      {"bps", 0.125}, {"kbps", 125}, {"Mbps", 125e3}, {"Gbps", 125e6}, {"Tbps", 125e9},
      {"Bps", 1},     {"kBps", 1e3}, {"MBps", 1e6},   {"GBps", 1e9},   {"TBps", 1e12},
  };
  return units;
}

const std::vector<Unit>& durations() {
  static const std::vector<Unit> units = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                                          {"min", 60},  {"h", 3600},  {"d", 86400}};
  return units;
}

// The number in front, and what stands behind it.
double read(const std::string& key, const Value& value, const std::vector<Unit>& units,
            const char* examples) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr &&
      (std::holds_alternative<std::int64_t>(value.data) || std::holds_alternative<double>(value.data)))
    throw RequestError(fmt::format("{} = {} has no unit: write {}", key, to_toml(value), examples));
  double number = 0;
  const char* const end = text == nullptr ? nullptr : text->data() + text->size();
  const auto [rest, error] = text == nullptr ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                             : std::from_chars(text->data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0)
    throw RequestError(
        fmt::format("{} = {} is not a number with a unit, such as {}", key, to_toml(value), examples));
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  if (unit.empty())
    throw RequestError(fmt::format("{} = {} has no unit: write {}", key, to_toml(value), examples));
  std::vector<std::string> names;
  for (const Unit& known : units) {
    if (unit == known.name) return number * known.factor;
    names.push_back(known.name);
  }
  throw RequestError(fmt::format("{} = {} has an unknown unit; choose one of {}", key, to_toml(value),
                                 fmt::join(names, ", ")));
}

}  // namespace

double read_bandwidth(const std::string& key, const Value& value) {
  const double bytes = read(key, value, bandwidths(), "\"100Mbps\" (megabit) or \"12.5MBps\" (megabyte)");
  if (bytes <= 0) throw RequestError(fmt::format("{} must be above 0, not {}", key, to_toml(value)));
  return bytes;
}

double read_duration(const std::string& key, const Value& value) {
  return read(key, value, durations(), "\"5ms\" or \"2s\"");
}

}  // namespace veche
