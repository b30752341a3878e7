#include "veche/data/sets/class_weights.h"

#include <fmt/format.h>

#include <numeric>

#include "veche/base/value_as.h"
#include "veche/errors.h"

namespace veche {

std::vector<float> class_weights(const DataSettings& settings, const std::vector<std::uint64_t>& counts) {
  if (!settings.class_weights) return {};
  if (counts.empty())
    throw RequestError("data.class_weights is for classes, and the targets are none: leave it out");
  const Value& given = *settings.class_weights;
  std::vector<float> weights;
  if (const auto* word = std::get_if<std::string>(&given.data); word != nullptr && *word == "balanced") {
    const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    for (const std::uint64_t count : counts)
      weights.push_back(count == 0 ? 0.0F
                                   : static_cast<float>(all / (static_cast<double>(counts.size()) *
                                                               static_cast<double>(count))));
    return weights;
  }
  const auto* const list = std::get_if<Value::List>(&given.data);
  bool good = list != nullptr;
  double sum = 0;
  for (std::size_t i = 0; good && i < list->size(); ++i) {
    const Value& item = (*list)[i];
    good = std::holds_alternative<double>(item.data) || std::holds_alternative<std::int64_t>(item.data);
    if (!good) break;
    weights.push_back(static_cast<float>(value_as<double>(item, "class_weights")));
    good = weights.back() >= 0;
    sum += weights.back();
  }
  if (!good || sum == 0)
    throw RequestError("data.class_weights must be \"balanced\" or a list of numbers, such as [1, 3.5]");
  if (weights.size() != counts.size())
    throw RequestError(fmt::format("data.class_weights has {} numbers, and there are {} classes",
                                   weights.size(), counts.size()));
  return weights;
}

}  // namespace veche
