#include "veche/train/measure/target.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"

namespace veche {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The way of comparing in which a better value passes.
std::string better(const Measure& measure) { return measure.up ? ">=" : "<="; }

const Measure& measure_of(std::string_view name, Task task) {
  std::vector<std::string> names;
  for (const Measure& measure : measures_of(task)) {
    if (measure.name == name) return measure;
    names.emplace_back(measure.name);
  }
  throw RequestError(fmt::format("run.target: '{}' is no measure where the targets are {}{}", name,
                                 targets_of(task), suggestion(name, names)));
}

Target checked(const Target& target) {
  if (target.measure->unit == "%" && target.value > 1)
    throw RequestError(
        fmt::format("run.target: {} is a fraction, such as 0.9 for 90 %", target.measure->name));
  return target;
}

Target parse_target(std::string_view text, Task task) {
  const Measure& main = main_measure(task);
  const auto refuse = [&](const std::string& why) {
    throw RequestError(fmt::format("run.target = \"{}\" {}, such as \"{} {} {}\"", text, why, main.name,
                                   better(main), main.up ? "0.9" : "2.5"));
  };
  const std::size_t at = text.find_first_of("<>=");
  if (at == std::string_view::npos) refuse("must be a measure, <= or >=, and a number");
  const std::size_t end = text.find_first_not_of("<>=", at);
  const std::string_view how = text.substr(at, end - at);
  const std::string_view number = end == std::string_view::npos ? "" : trimmed(text.substr(end));
  if (how != "<" && how != "<=" && how != ">" && how != ">=")
    refuse(fmt::format("compares by '{}' and not by < <= > or >=", how));
  Target target{.measure = &measure_of(trimmed(text.substr(0, at)), task), .exclusive = how.size() == 1};
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), target.value);
  if (error != std::errc() || stop != number.data() + number.size() || number.empty())
    refuse(fmt::format("needs a number behind {}", how));
  if (how.front() != better(*target.measure).front())
    throw RequestError(fmt::format("run.target = \"{}\": {} is better the {} it is; write \"{} {} {}\"", text,
                                   target.measure->name, target.measure->up ? "larger" : "smaller",
                                   target.measure->name, better(*target.measure), target.value));
  return checked(target);
}

}  // namespace

bool Target::is_reached_by(const TestResult& result) const {
  const std::optional<double> found = measure->value(result);
  if (!found)
    throw RequestError(
        fmt::format("run.target: {} is not measured here: it needs two classes, and a learner "
                    "that tells the score of each sample",
                    measure->name));
  if (*found == value) return !exclusive;
  return measure->up ? *found > value : *found < value;
}

Target read_target(const Value& wanted, Task task) {
  if (const auto* text = std::get_if<std::string>(&wanted.data)) return parse_target(trimmed(*text), task);
  Target target{.measure = &main_measure(task)};
  if (const auto* whole = std::get_if<std::int64_t>(&wanted.data))
    target.value = static_cast<double>(*whole);
  else if (const auto* real = std::get_if<double>(&wanted.data))
    target.value = *real;
  else
    throw RequestError("run.target must be a number, or words such as \"loss <= 0.5\"");
  if (!(target.value > 0))
    throw RequestError(fmt::format("run.target = {}: {} is reached above 0, such as {}", target.value,
                                   target.measure->title, target.measure->up ? "0.9" : "2.5"));
  return checked(target);
}

}  // namespace veche
