#include "veche/model/torch/options.h"

#include <algorithm>
#include <charconv>

#include "veche/errors.h"

namespace veche::torch_model {
namespace {

constexpr int kSmallSide = 64;  // images up to this side are small: CIFAR's 32 and Tiny ImageNet's 64

double probability(const std::optional<double>& given, const char* key, double own) {
  const double value = given.value_or(own);
  if (value < 0 || value >= 1)
    throw RequestError("model." + std::string(key) + " must be at least 0 and below 1");
  return value;
}

}  // namespace

NormChoice norm_of(const ModelSpec& spec) {
  using Kind = NormChoice::Kind;
  const std::string text = spec.settings.norm.value_or("batch");
  if (text == "batch") return {.kind = Kind::batch};
  if (text == "layer") return {.kind = Kind::layer};
  if (text == "none") return {.kind = Kind::none};
  int groups = 0;
  const std::string prefix = "group:";
  const char* end = text.data() + text.size();
  if (text.starts_with(prefix)) {
    const auto [rest, error] = std::from_chars(text.data() + prefix.size(), end, groups);
    if (error == std::errc{} && rest == end && groups > 0) return {.kind = Kind::group, .groups = groups};
  }
  throw RequestError("model.norm: there is no norm '" + text +
                     "'; choose batch, group:G (such as group:8), layer or none");
}

double dropout_of(const ModelSpec& spec, double own) {
  return probability(spec.settings.dropout, "dropout", own);
}

double stochastic_depth_of(const ModelSpec& spec, double own) {
  return probability(spec.settings.stochastic_depth, "stochastic_depth", own);
}

bool small_stem(const ModelSpec& spec) {
  const ModelStem stem = spec.settings.stem;
  if (stem == ModelStem::automatic) return std::max(spec.input.height, spec.input.width) <= kSmallSide;
  return stem == ModelStem::small;
}

void require_pixels(const ModelSpec& spec, int least) {
  if (std::min(spec.input.height, spec.input.width) < least)
    throw RequestError("model.name: '" + spec.name + "' needs images of at least " + std::to_string(least) +
                       "x" + std::to_string(least) + " pixels, the data have " +
                       std::to_string(spec.input.height) + "x" + std::to_string(spec.input.width));
}

}  // namespace veche::torch_model
