#include "veche/data/sets/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/text/nearest.h"
#include "veche/data/formats/listing.h"
#include "veche/data/sets/known_sets.h"
#include "veche/data/sets/moments.h"
#include "veche/data/sets/open.h"
#include "veche/data/table/open_table.h"
#include "veche/data/text/open_text.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr const char* kText = "text";

DataSource open_kind(Kind kind, const OpenRequest& request) {
  switch (kind) {
    case Kind::idx:
      return open_idx(request);
    case Kind::cifar10:
      return open_cifar10(request);
    case Kind::cifar100:
      return open_cifar100(request);
    case Kind::npy:
      return open_npy(request);
    case Kind::packed:
      return open_packed(request);
    case Kind::archive:
      return open_archive(request);
    case Kind::table:  // opened with its own keys, by open_path
    case Kind::images:
      break;
  }
  return open_image_folder(request);
}

void adopt(DataSource& source, const KnownSet& set) {
  source.name = set.name;
  source.augment = set.augment;
}

const KnownSet& known_set(const std::string& name) {
  const auto set = std::ranges::find(known_sets(), name, &KnownSet::name);
  if (set == known_sets().end())
    throw RequestError(fmt::format("data.name '{}' is unknown{}", name, suggestion(name, data_names())));
  return *set;
}

// Finds the files of a known set, or throws a sentence about where to get them.
fs::path find_files(const KnownSet& set, const DataSettings& settings) {
  const std::string& path = settings.path.one;
  std::error_code error;
  if (!path.empty()) {
    if (!fs::exists(path, error))
      throw RequestError(fmt::format("there is no '{}': {}", path, set.if_missing));
    return path;
  }
  for (const std::string& place : places_of(set, settings.folder))
    if (fs::exists(place, error)) return place;
  throw RequestError(fmt::format("data.path is needed for '{}': {}", set.name, set.if_missing));
}

DataSource open_known(const KnownSet& set, const DataSettings& settings, OpenRequest request) {
  request.path = find_files(set, settings);
  request.classes = set.classes;
  request.normalization = set.normalization;
  const auto kind = recognise(request.path);
  if (!kind && set.shape.channels > 1)
    throw RequestError(
        fmt::format("'{}' holds no files of {}: {}", request.path.string(), set.name, set.if_missing));
  DataSource source = open_kind(kind.value_or(Kind::idx), request);
  const int channels = source.train->shape().channels;
  if (source.train->classes() != set.classes || channels != set.shape.channels)
    throw RequestError(
        fmt::format("'{}' holds {} classes of images with {} channels, which {} is not: leave data.name out",
                    request.path.string(), source.train->classes(), channels, set.name));
  adopt(source, set);
  return source;
}

DataSource open_path(OpenRequest request, const DataSettings& settings, std::uint64_t seed,
                     const OpenOptions& how) {
  std::error_code error;
  if (!fs::exists(request.path, error))
    throw RequestError(fmt::format("data.path: there is no '{}'", request.path.string()));
  const auto kind = recognise(request.path);
  if (kind == Kind::table) return open_table(request, settings, seed, how);
  if (!kind)
    throw RequestError(
        fmt::format("data.path: '{}' holds nothing that can be read: a table (.csv), IDX files, CIFAR's "
                    "binary files, .npy "
                    "pairs, tar archives, a "
                    "packed set, or images in a folder for each class; for a text set data.name = \"text\"",
                    request.path.string()));
  if (kind == Kind::cifar10 || kind == Kind::cifar100) {
    const KnownSet& set = known_set(kind == Kind::cifar10 ? "cifar10" : "cifar100");
    request.normalization = set.normalization;
    DataSource source = open_kind(*kind, request);
    adopt(source, set);
    return source;
  }
  DataSource source = open_kind(*kind, request);
  if (const KnownSet* set = similar_known_set(source.class_names, source.train->shape())) adopt(source, *set);
  return source;
}

void check_values(const OwnDataset& own, const OwnDataset::Parts& parts) {
  for (const Dataset* set : {parts.train.get(), parts.test.get()})
    for (std::size_t i = 0; i < set->size(); ++i)
      if (const float value = set->values()->value(i); !std::isfinite(value))
        throw RequestError(
            fmt::format("data.name = \"{}\": sample {} of the {} set has the value {}, which is "
                        "no number to learn",
                        own.name, i, set == parts.train.get() ? "training" : "test", value));
}

// Labels are later used as indices without a check.
void check_labels(const OwnDataset& own, const OwnDataset::Parts& parts) {
  const int classes = parts.train->classes();
  if (!parts.class_names.empty() &&
      parts.class_names.size() != static_cast<std::size_t>(std::max(0, classes)))
    throw RequestError(fmt::format("data.name = \"{}\": it has {} classes and {} names for them", own.name,
                                   classes, parts.class_names.size()));
  for (const Dataset* set : {parts.train.get(), parts.test.get()})
    for (std::size_t i = 0; i < set->size(); ++i)
      if (const std::int64_t label = set->label(i); label < 0 || label >= classes)
        throw RequestError(
            fmt::format("data.name = \"{}\": sample {} of the {} set has the label {}, which "
                        "is none of its {} classes, 0 and up",
                        own.name, i, set == parts.train.get() ? "training" : "test", label, classes));
}

DataSource open_own(const OwnDataset& own, const Options& keys, std::uint64_t seed) {
  OwnDataset::Parts parts = own.open(keys, seed);
  if (parts.train == nullptr || parts.test == nullptr || parts.train->size() == 0)
    throw RequestError(
        fmt::format("data.name = \"{}\": the program that registered it gave no samples", own.name));
  if (parts.train->shape() != parts.test->shape() || parts.train->classes() != parts.test->classes())
    throw RequestError(fmt::format(
        "data.name = \"{}\": the training and the test set differ in the shape of samples or in classes",
        own.name));
  if (parts.train->task() != parts.test->task())
    throw RequestError(
        fmt::format("data.name = \"{}\": the targets of the training set are {} and those of "
                    "the test set {}",
                    own.name, targets_of(parts.train->task()), targets_of(parts.test->task())));
  if (parts.train->values() != nullptr)
    check_values(own, parts);
  else
    check_labels(own, parts);
  return {.name = own.name,
          .kind = "a set of this program",
          .place = {},
          .train = std::move(parts.train),
          .test = std::move(parts.test),
          .class_names = std::move(parts.class_names)};
}

}  // namespace

Registry<OwnDataset>& own_datasets() {
  static Registry<OwnDataset> sets;
  return sets;
}

void register_dataset(OwnDataset dataset) {
  const bool opens = static_cast<bool>(dataset.open);
  own_datasets().add(std::move(dataset), "data set", opens, [](const std::string& name) {
    const std::vector<std::string> names = data_names();
    return std::ranges::find(names, name) != names.end();
  });
}

DataSource open_data(const DataSettings& settings, std::uint64_t seed, OpenOptions how) {
  const std::string name = settings.name.value_or(settings.path.empty() ? "fashion-mnist" : "");
  if (name == "synthetic") return open_synthetic(settings, seed);
  if (name == kText) return open_text(settings, {settings.path.one}, how.context);
  if (settings.tokenizer)
    throw RequestError(
        fmt::format("data.tokenizer = \"{}\" is for a text, and data.name is not \"text\": set data.name = "
                    "\"text\" or leave it "
                    "out",
                    *settings.tokenizer));
  if (const OwnDataset* own = own_datasets().find(name)) return open_own(*own, settings.keys, seed);
  OpenRequest request;
  request.size = settings.size.value_or(0);
  request.size_if_unequal = how.size_if_unequal;
  request.processes = how.processes;
  request.policy.on = settings.bad;
  if (!name.empty()) return open_known(known_set(name), settings, std::move(request));
  request.path = settings.path.one;
  return open_path(std::move(request), settings, seed, how);
}

bool is_text(const DataSettings& settings) { return settings.name == kText; }

std::string class_name(const DataSource& source, std::int64_t label) {
  return source.class_names.empty() ? std::to_string(label)
                                    : source.class_names.at(static_cast<std::size_t>(label));
}

std::vector<std::string> data_names() {
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) names.push_back(set.name);
  names.emplace_back("synthetic");
  names.emplace_back(kText);
  std::ranges::copy(own_datasets().names(), std::back_inserter(names));
  return names;
}

}  // namespace veche
