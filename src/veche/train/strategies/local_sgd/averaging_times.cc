#include "veche/train/strategies/local_sgd/averaging_times.h"

#include "veche/errors.h"

namespace veche {

AveragingTimes::AveragingTimes(const LocalSgdOptions& options, std::uint64_t steps_per_epoch) {
  const auto per_epoch = static_cast<double>(steps_per_epoch);
  const double warm = options.warm * per_epoch;
  if (warm > 0) phases_.push_back({0, 1});
  if (const auto* list = std::get_if<Value::List>(&options.period.data)) {
    for (const Value& item : *list) add(item, per_epoch);
  } else if (const auto* steps = std::get_if<std::int64_t>(&options.period.data);
             steps != nullptr && *steps >= 1) {
    phases_.push_back({static_cast<std::uint64_t>(warm), static_cast<std::uint64_t>(*steps)});
  } else if (options.at_end()) {
    phases_.push_back({static_cast<std::uint64_t>(warm), 0});
  } else {
    throw RequestError("strategy.period must be a number of steps, \"end\", or a list of [epoch, period]");
  }
}

void AveragingTimes::add(const Value& item, double per_epoch) {
  Options pair;
  pair.set("phase", item);
  std::vector<double> numbers;
  if (std::holds_alternative<Value::List>(item.data)) numbers = pair.get<std::vector<double>>("phase");
  if (numbers.size() != 2 || !(numbers[0] >= 0 && numbers[0] < 1e9) ||
      !(numbers[1] >= 1 && numbers[1] < 1e15))
    throw RequestError("strategy.period as a list holds pairs [epoch, period], such as [[0, 1], [5, 8]]");
  phases_.push_back(
      {static_cast<std::uint64_t>(numbers[0] * per_epoch), static_cast<std::uint64_t>(numbers[1])});
}

const AveragingTimes::Phase* AveragingTimes::phase_at(std::uint64_t step) const {
  const Phase* current = nullptr;
  for (const Phase& candidate : phases_)
    if (candidate.from <= step) current = &candidate;
  return current;
}

bool AveragingTimes::after(std::uint64_t step) const {
  const Phase* phase = phase_at(step);
  return phase != nullptr && phase->period != 0 && (step + 1 - phase->from) % phase->period == 0;
}

std::uint64_t AveragingTimes::steps_up_to(std::uint64_t step) const {
  std::uint64_t first = step;
  while (first > 0 && !after(first - 1)) --first;
  return step - first + 1;
}

}  // namespace veche
