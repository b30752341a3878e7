#include <fmt/format.h>

#include <algorithm>

#include "veche/data/formats/listing.h"
#include "veche/data/sets/known_sets.h"
#include "veche/data/sets/moments.h"
#include "veche/data/sets/open.h"
#include "veche/errors.h"

namespace veche {
namespace {

// From all samples, or from an evenly spread selection, since large sets are not read whole at the
// start.
Normalization measure(const Samples& samples) {
  constexpr std::size_t kEnough = 2'000;
  const std::size_t all = samples.labels.size(), count = std::min(all, kEnough);
  Moments moments(samples.shape.channels);
  std::vector<std::uint8_t> room(samples.shape.size());
  for (std::size_t turn = 0; turn < count; ++turn) moments.add(samples.pixels(turn * all / count, room));
  return moments.normalization();
}

}  // namespace

DataSource from_memory(const OpenRequest& request, std::string kind, Samples train, Samples test,
                       std::vector<std::string> classes) {
  const std::string place = request.path.string();
  if (train.labels.empty() || test.labels.empty())
    throw RequestError(
        fmt::format("'{}' holds no {} samples", place, train.labels.empty() ? "training" : "test"));
  if (train.shape != test.shape)
    throw RequestError(fmt::format("in '{}' the training images are {}x{} and the test images {}x{}", place,
                                   train.shape.width, train.shape.height, test.shape.width,
                                   test.shape.height));
  if (request.size != 0 && (request.size != train.shape.height || request.size != train.shape.width))
    throw RequestError(fmt::format("data.size = {} is for image files; '{}' holds pixels, {}x{}",
                                   request.size, place, train.shape.width, train.shape.height));
  Normalization normalization;
  if (request.normalization) {
    normalization = *request.normalization;
  } else {
    normalization = measure(train);
  }
  return {.name = request.path.filename().string(),
          .kind = std::move(kind),
          .place = place,
          .train = std::make_shared<ImageSet>(std::move(train), normalization, request.policy),
          .test = std::make_shared<ImageSet>(std::move(test), normalization, request.policy),
          .class_names = std::move(classes),
          .damage = {request.policy.log}};
}

std::pair<Samples, Samples> hold_out_tenth(Samples all) {
  Listing listing{
      .classes = std::vector<std::string>(static_cast<std::size_t>(all.classes)), .train = {}, .test = {}};
  for (std::size_t i = 0; i < all.labels.size(); ++i)
    listing.train.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(all.labels[i])});
  hold_out_tenth(listing);
  const auto gather = [&](const std::vector<Listing::Item>& items) {
    Samples part{.shape = all.shape,
                 .classes = all.classes,
                 .planes = all.planes,
                 .owners = all.owners,
                 .files = all.files};
    for (const Listing::Item item : items) part.add(all.places[item.file], item.label);
    return part;
  };
  return {gather(listing.train), gather(listing.test)};
}

Normalization choose_normalization(const OpenRequest& request, const std::vector<std::string>& classes,
                                   const Shape& shape, const Normalization& measured) {
  if (request.normalization) return *request.normalization;
  const KnownSet* set = similar_known_set(classes, shape);
  return set != nullptr ? set->normalization : measured;
}

}  // namespace veche
