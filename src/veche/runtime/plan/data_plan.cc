#include "veche/runtime/plan/data_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/data/feed/shuffle.h"
#include "veche/data/sets/class_weights.h"
#include "veche/errors.h"
#include "veche/model/gpt_size.h"
#include "veche/model/zoo.h"
#include "veche/runtime/plan/strategy_choice.h"

namespace veche {
namespace {

// The nodes without data come first and get empty shards.
Partition divide(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders) {
  if (settings.brings_data) return {};
  const int nodes = nodes_with_data(settings), idle = settings.replicas() - nodes;
  const Dataset& train = *folders.source.train;
  PartitionHints hints{.speed = speeds.speed,
                       .label = [&](std::size_t sample) { return train.label(sample); },
                       .classes = train.task() == Task::classification ? train.classes() : 0};
  if (!hints.speed.empty()) hints.speed.erase(hints.speed.begin(), hints.speed.begin() + idle);
  if (!folders.ends.empty()) hints.owner = [&](std::size_t sample) { return folders.owner(sample); };
  Partition shards = partition(train.size(), nodes, settings.data.partition, settings.seed(), hints);
  shards.insert(shards.begin(), static_cast<std::size_t>(idle), {});
  return shards;
}

// Each member divides its own data among its own nodes.
Partition divide_own(const Settings& settings, const NodesInView& view, const NodeFolders& folders) {
  Partition shards(static_cast<std::size_t>(settings.nodes()));
  const Dataset& train = *folders.source.train;
  Partition here = partition(train.size(), view.here, {}, settings.seed(), {});
  std::ranges::move(here, shards.begin() + view.first_here);
  return shards;
}

Augmentation choose_augmentation(const Settings& settings, const DataSource& source) {
  if (settings.brings_data) return {};
  const std::string& asked = settings.data.augment;
  const Augmentation result =
      read_augmentation(asked == "default" ? source.augment : asked, source.train->shape());
  if (!result.none() && dynamic_cast<const PixelSet*>(source.train.get()) == nullptr)
    throw RequestError(
        fmt::format("data.augment = \"{}\" changes images, and {} is not a set of images; choose none", asked,
                    source.name));
  return result;
}

// data.class_weights; those of a table follow from its scheme.
void weigh_classes(DataSource& source, const DataSettings& settings) {
  if (source.scheme != nullptr || !settings.class_weights) return;
  const bool has_classes = source.train->task() == Task::classification;
  std::vector<std::uint64_t> counts(has_classes ? static_cast<std::size_t>(source.train->classes()) : 0);
  for (std::size_t i = 0; has_classes && i < source.train->size(); ++i)
    ++counts[static_cast<std::size_t>(source.train->label(i))];
  source.class_weights = class_weights(settings, counts);
}

// A model that brings its own data has no use for what describes a data set.
void refuse_keys_of_sets(const Settings& settings) {
  const DataSettings& data = settings.data;
  for (const auto& [key, given] :
       {std::pair("tokenizer", data.tokenizer.has_value()), std::pair("test", data.test.has_value()),
        std::pair("target", data.target.has_value()), std::pair("ignore", !data.ignore.empty()),
        std::pair("categories", !data.categories.empty()), std::pair("numbers", !data.numbers.empty()),
        std::pair("dates", !data.dates.empty()), std::pair("class_weights", data.class_weights.has_value())})
    if (given)
      throw RequestError(
          fmt::format("data.{} describes a data set, and model.name = \"{}\" brings its own "
                      "data: leave the key out",
                      key, settings.model.name));
}

}  // namespace

int context_of(const ModelSettings& model) {
  const std::optional<GptSize> gpt = gpt_size(model);
  return gpt ? gpt->context : model.context.value_or(OpenOptions().context);
}

NodeFolders open_source(const Settings& settings, OpenOptions how) {
  how.context = context_of(settings.model);
  if (settings.brings_data) {
    refuse_keys_of_sets(settings);
    return {};
  }
  if (settings.data.is_in_folders()) {
    NodeFolders folders = open_node_folders(settings.data, settings.seed(), nodes_with_data(settings), how);
    weigh_classes(folders.source, settings.data);
    return folders;
  }
  if (!settings.data.path.per_node.empty())
    throw RequestError("data.path is a list of folders, which only data.partition = \"folders\" divides");
  NodeFolders all{open_data(settings.data, settings.seed(), how), {}};
  weigh_classes(all.source, settings.data);
  return all;
}

double choose_shuffle(const Settings& settings) {
  const std::string& rule = settings.data.shuffle;
  const double exchanged = read_shuffle(rule);
  if (exchanged > 0 && settings.data.uneven == UnevenData::repeat)
    throw RequestError(fmt::format(
        "data.shuffle = \"{}\" needs nodes that begin their epochs at the same step: choose data.uneven = "
        "\"wait\" or data.shuffle = \"local\"",
        rule));
  if (exchanged > 0 && is_async(settings))
    throw RequestError(
        fmt::format("data.shuffle = \"{}\" needs nodes that begin their epochs at the same step, and these "
                    "are asynchronous: "
                    "choose data.shuffle = \"local\"",
                    rule));
  return settings.brings_data ? 0 : exchanged;
}

DataPlan plan_data(const Settings& settings, const NodeSpeeds& speeds, const NodeFolders& folders,
                   const NodesInView* view) {
  if (!settings.brings_data)
    check_task(settings.model.name, folders.source.train->task(), folders.source.name);
  const bool own = view != nullptr && !view->samples.empty();
  return {.train = folders.source.train,
          .test = view == nullptr || view->test ? folders.source.test : nullptr,
          .partition = own ? divide_own(settings, *view, folders) : divide(settings, speeds, folders),
          .exchanged = choose_shuffle(settings),
          .batch = static_cast<std::size_t>(settings.data.batch * settings.data.accumulate),
          .pass = static_cast<std::size_t>(settings.data.batch),
          .augment = choose_augmentation(settings, folders.source),
          .class_weights = folders.source.class_weights};
}

}  // namespace veche
