#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "veche/base/text/nearest.h"
#include "veche/data/feed/augment.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr double kLeastArea = 0.08;  // as customary for ImageNet

const std::vector<std::string> kForms = {"none",     "crop:4",       "flip",
                                         "cutout:8", "resized-crop", "resized-crop:0.25"};

[[noreturn]] void refuse(std::string_view change, const std::string& reason) {
  throw RequestError(fmt::format("data.augment: '{}' {}", change, reason));
}

template <class T>
T number(std::string_view change, std::string_view digits, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !(value >= least && value <= most))
    refuse(change, fmt::format("needs a number from {} to {} behind the colon", least, most));
  return value;
}

}  // namespace

Augmentation read_augmentation(std::string_view spec, const Shape& shape) {
  Augmentation result;
  if (spec == "none") return result;
  const int side = std::max(shape.height, shape.width);
  std::vector<std::string_view> met;
  while (true) {
    const std::size_t plus = spec.find('+');
    const std::string_view change = spec.substr(0, plus);
    const std::size_t colon = change.find(':');
    const std::string_view name = change.substr(0, colon);
    const bool has_number = colon != std::string_view::npos;
    const std::string_view digits = has_number ? change.substr(colon + 1) : "";
    if (std::ranges::find(met, name) != met.end()) refuse(change, "is given twice");
    met.push_back(name);
    if (name == "crop" && has_number)
      result.crop = number(change, digits, 1, side - 1);
    else if (name == "cutout" && has_number)
      result.cutout = number(change, digits, 1, side);
    else if (name == "resized-crop")
      result.resized_crop = has_number ? number(change, digits, 0.01, 1.0) : kLeastArea;
    else if (change == "flip")
      result.flip = true;
    else
      refuse(change, "is unknown" + suggestion(change, kForms));
    if (plus == std::string_view::npos) break;
    spec.remove_prefix(plus + 1);
  }
  if (result.resized_crop > 0 && result.crop > 0)
    throw RequestError("data.augment: crop and resized-crop exclude each other; choose one");
  return result;
}

}  // namespace veche
