#include "veche/runtime/inference/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"

namespace veche {

Sampler::Sampler(const Sampling& how) : how_(how), random_(how.seed, "generate") {
  if (!(how.temperature >= 0) || !std::isfinite(how.temperature))
    throw RequestError(fmt::format("the temperature must be a number from 0 on, not {}", how.temperature));
  if (how.top_k < 0)
    throw RequestError(fmt::format("top-k must be a number of tokens, or 0 for all, not {}", how.top_k));
}

std::int32_t Sampler::draw(std::span<const float> logits) {
  if (std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); }))
    throw RunError("the model answers with numbers that are NaN: its weights are too large");
  const auto best = std::ranges::max_element(logits);
  if (how_.temperature == 0) return static_cast<std::int32_t>(best - logits.begin());
  choices_.clear();
  for (const float& logit : logits)
    choices_.push_back({static_cast<std::int32_t>(&logit - logits.data()),
                        std::exp((static_cast<double>(logit) - *best) / how_.temperature)});
  if (const auto most = static_cast<std::size_t>(how_.top_k); most > 0 && most < choices_.size()) {
    // Ties go to the lower token, so that the choice does not depend on the library.
    std::ranges::partial_sort(choices_, choices_.begin() + how_.top_k, [](const Choice& a, const Choice& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
    });
    choices_.resize(most);
  }
  double sum = 0;
  for (const Choice& choice : choices_) sum += choice.weight;
  double left = random_.uniform() * sum;
  for (const Choice& choice : choices_)
    if ((left -= choice.weight) < 0) return choice.token;
  return static_cast<std::int32_t>(best - logits.begin());  // rounding used up the sum
}

}  // namespace veche
