#include "veche/runtime/plan/data_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/data/feed/shuffle.h"
#include "veche/errors.h"
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
                       .classes = train.classes()};
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
  Partition here = partition(train.size(), view.here, "iid", settings.seed(), {});
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

}  // namespace

NodeFolders open_source(const Settings& settings, int processes) {
  const OpenOptions how{.processes = processes};
  if (settings.brings_data) return {};
  if (settings.data.is_in_folders())
    return open_node_folders(settings.data, settings.seed(), nodes_with_data(settings), how);
  if (!settings.data.path.per_node.empty())
    throw RequestError("data.path is a list of folders, which only data.partition = \"folders\" divides");
  return {open_data(settings.data, settings.seed(), how), {}};
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
  const bool own = view != nullptr && !view->samples.empty();
  return {.train = folders.source.train,
          .test = view == nullptr || view->test ? folders.source.test : nullptr,
          .partition = own ? divide_own(settings, *view, folders) : divide(settings, speeds, folders),
          .exchanged = choose_shuffle(settings),
          .batch = static_cast<std::size_t>(settings.data.batch),
          .augment = choose_augmentation(settings, folders.source)};
}

}  // namespace veche
