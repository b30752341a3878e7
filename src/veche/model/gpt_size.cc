#include "veche/model/gpt_size.h"

#include <algorithm>
#include <array>

#include "veche/errors.h"

namespace veche {
namespace {

struct NamedSize {
  const char* name;
  GptSize size;
};

constexpr GptSize kNano{.layers = 4, .heads = 4, .width = 128, .context = 64};

constexpr std::array<NamedSize, 4> kSizes = {{
    {"gpt", kNano},
    {"gpt-nano", kNano},
    {"gpt-mini", {.layers = 6, .heads = 6, .width = 384, .context = 256}},
    {"gpt2", {.layers = 12, .heads = 12, .width = 768, .context = 1024, .bias = true}},
}};

// The width nearest to the requested one that the heads divide.
int nearest_width(const GptSize& size) {
  const int heads = (size.width + size.heads / 2) / size.heads;
  return std::max(1, heads) * size.heads;
}

}  // namespace

std::vector<std::string> gpt_names() {
  std::vector<std::string> names;
  for (const NamedSize& each : kSizes) names.emplace_back(each.name);
  return names;
}

std::optional<GptSize> gpt_size(const ModelSettings& model) {
  const auto named = std::ranges::find(kSizes, model.name, &NamedSize::name);
  if (named == kSizes.end()) return std::nullopt;
  const GptSize& own = named->size;
  const GptSize size{.layers = model.layers.value_or(own.layers),
                     .heads = model.heads.value_or(own.heads),
                     .width = model.width.value_or(own.width),
                     .context = model.context.value_or(own.context),
                     .bias = model.bias.value_or(own.bias),
                     .tied = model.tied.value_or(own.tied)};
  for (const auto& [key, value] : {std::pair("layers", size.layers), std::pair("heads", size.heads),
                                   std::pair("width", size.width), std::pair("context", size.context)})
    if (value < 1) throw RequestError("model." + std::string(key) + " must be at least 1");
  if (size.width % size.heads != 0)
    throw RequestError("model.heads: " + std::to_string(size.heads) + " heads do not divide a width of " +
                       std::to_string(size.width) +
                       "; choose model.width = " + std::to_string(nearest_width(size)));
  return size;
}

}  // namespace veche
