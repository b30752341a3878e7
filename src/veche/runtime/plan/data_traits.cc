#include "veche/runtime/plan/data_traits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "veche/data/sets/pixel_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

// Two sets of the same kind of images have slightly different statistics; sets whose pixels mean
// something else have very different ones.
constexpr double kLargestShift = 0.5;  // between the means, in standard deviations
constexpr double kLargestRatio = 1.5;  // of the standard deviations

bool similar_pixels(const DataTraits& mine, const DataTraits& theirs) {
  if (mine.mean.size() != theirs.mean.size() || mine.deviation.size() != theirs.deviation.size())
    return false;
  for (std::size_t i = 0; i < mine.mean.size() && i < mine.deviation.size(); ++i) {
    const double least = std::min(mine.deviation[i], theirs.deviation[i]);
    if (std::abs(mine.mean[i] - theirs.mean[i]) > kLargestShift * least) return false;
    if (std::max(mine.deviation[i], theirs.deviation[i]) > kLargestRatio * least) return false;
  }
  return true;
}

}  // namespace

DataTraits DataTraits::of_source(const DataSource& source) {
  if (!source.train) return {};
  const Shape shape = source.train->shape();
  DataTraits traits{
      {shape.channels, shape.height, shape.width}, source.train->classes(), source.class_names, {}, {}};
  if (const auto* pixels = dynamic_cast<const PixelSet*>(source.train.get())) {
    traits.mean = pixels->normalization().mean;
    traits.deviation = pixels->normalization().deviation;
  }
  return traits;
}

std::string DataTraits::text() const {
  return nlohmann::json{{"shape", shape},
                        {"classes", classes},
                        {"class_names", class_names},
                        {"mean", mean},
                        {"deviation", deviation}}
      .dump();
}

DataTraits DataTraits::of(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {json.at("shape"), json.at("classes"), json.at("class_names"), json.at("mean"),
            json.at("deviation")};
  } catch (const nlohmann::json::exception&) {
    throw RequestError("the description of the run's data is damaged");
  }
}

void DataTraits::check_fit(const DataTraits& runs) const {
  const auto refuse = [](const std::string& what, const std::string& mine, const std::string& theirs) {
    throw RequestError(fmt::format(
        "the data here have {} {}, those of the run {}: they cannot train one model", what, mine, theirs));
  };
  if (shape != runs.shape)
    refuse("the shape", fmt::format("{}", fmt::join(shape, "x")),
           fmt::format("{}", fmt::join(runs.shape, "x")));
  if (classes != runs.classes)
    refuse("so many classes:", fmt::format("{}", classes), fmt::format("{}", runs.classes));
  for (std::size_t i = 0; i < std::min(class_names.size(), runs.class_names.size()); ++i)
    if (class_names[i] != runs.class_names[i])
      refuse(fmt::format("for class {} the name", i), "'" + class_names[i] + "'",
             "'" + runs.class_names[i] + "'");
  const auto words = [](const DataTraits& one) {
    return fmt::format("mean [{:.4f}] and deviation [{:.4f}]", fmt::join(one.mean, ", "),
                       fmt::join(one.deviation, ", "));
  };
  if (!similar_pixels(*this, runs)) refuse("another normalisation:", words(*this), words(runs));
}

}  // namespace veche
