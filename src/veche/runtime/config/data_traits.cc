#include "veche/runtime/config/data_traits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "veche/base/text/hex.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/data/table/scheme.h"
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

std::map<std::string, std::string> columns_of(const TableScheme& scheme) {
  std::map<std::string, std::string> columns;
  for (const TableScheme::Column& column : scheme.columns) columns[column.name] = word_of(column.kind);
  columns[scheme.target.name] =
      scheme.target.task == Task::regression ? "the target, a number" : "the target, a class";
  return columns;
}

void check_columns(const DataTraits& mine, const DataTraits& runs) {
  if (mine.columns.empty() != runs.columns.empty())
    throw RequestError(
        fmt::format("the data here are {} table, those of the run {}: they cannot train one model",
                    mine.columns.empty() ? "no" : "a", runs.columns.empty() ? "none" : "one"));
  for (const auto& [name, holds] : runs.columns) {
    const auto own = mine.columns.find(name);
    if (own == mine.columns.end())
      throw RequestError(fmt::format("the table here has no column '{}', which those of the run have", name));
    if (own->second != holds)
      throw RequestError(fmt::format("column '{}' of the table here holds {}, and in those of the run {}",
                                     name, own->second, holds));
  }
  for (const auto& [name, holds] : mine.columns)
    if (!runs.columns.contains(name))
      throw RequestError(fmt::format(
          "the table here has a column '{}', which those of the run have not: take it out of the file",
          name));
}

}  // namespace

DataTraits DataTraits::of_source(const DataSource& source) {
  if (!source.train) return {};
  if (source.scheme) return {.task = source.train->task(), .columns = columns_of(*source.scheme)};
  const Shape shape = source.train->shape();
  DataTraits traits{.shape = {shape.channels, shape.height, shape.width},
                    .classes = source.train->classes(),
                    .class_names = source.class_names,
                    .mean = {},
                    .deviation = {},
                    .task = source.train->task(),
                    .vocabulary = source.tokenizer ? packed_tokenizer(*source.tokenizer) : ""};
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
                        {"deviation", deviation},
                        {"task", to_string(task)},
                        {"vocabulary", to_hex(vocabulary)},
                        {"columns", columns}}
      .dump();
}

DataTraits DataTraits::of(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    // Versions that knew classes only do not say so.
    const auto task = parse_task(json.value("task", "classification"));
    if (!task) throw RequestError("the run's data are for a task that this version does not know");
    const auto vocabulary = from_hex(json.value("vocabulary", ""));
    if (!vocabulary) throw RequestError("the vocabulary of the run is damaged");
    return {json.at("shape"),
            json.at("classes"),
            json.at("class_names"),
            json.at("mean"),
            json.at("deviation"),
            *task,
            *vocabulary,
            json.value("columns", std::map<std::string, std::string>())};
  } catch (const nlohmann::json::exception&) {
    throw RequestError("the description of the run's data is damaged");
  }
}

void DataTraits::check_fit(const DataTraits& runs) const {
  const auto refuse = [](const std::string& what, const std::string& mine, const std::string& theirs) {
    throw RequestError(fmt::format(
        "the data here have {} {}, those of the run {}: they cannot train one model", what, mine, theirs));
  };
  if (task != runs.task)
    refuse("as targets", std::string(targets_of(task)), std::string(targets_of(runs.task)));
  check_columns(*this, runs);
  if (shape != runs.shape)
    refuse("the shape", fmt::format("{}", fmt::join(shape, "x")),
           fmt::format("{}", fmt::join(runs.shape, "x")));
  if (vocabulary != runs.vocabulary)
    throw RequestError("the text here is packed with another vocabulary than that of the run");
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
