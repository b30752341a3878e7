#include <fmt/format.h>

#include "veche/data/formats/pack/packed_set.h"
#include "veche/data/sets/decoded_set.h"
#include "veche/data/sets/open.h"
#include "veche/errors.h"

namespace veche {
namespace {

DataSource described(const OpenRequest& request, const PackedIndex& index) {
  return {.name = request.path.filename().string(),
          .kind = index.kind == PackedIndex::Kind::files ? "packed image files" : "packed pixels",
          .place = request.path.string(),
          .train = {},
          .test = {},
          .class_names = index.classes,
          .damage = {request.policy.log}};
}

}  // namespace

DataSource open_packed(const OpenRequest& request) {
  const auto shards = std::make_shared<const PackedShards>(request.path, request.policy);
  const PackedIndex& index = shards->index();
  DataSource source = described(request, index);
  if (index.kind == PackedIndex::Kind::pixels) {
    if (request.size != 0 && (request.size != index.shape.height || request.size != index.shape.width))
      throw RequestError(
          fmt::format("data.size = {} but '{}' was packed decoded as {}x{}: pack it again from its source",
                      request.size, request.path.string(), index.shape.width, index.shape.height));
    const Normalization normalization =
        choose_normalization(request, index.classes, index.shape, index.normalization);
    source.train = packed_pixels(shards, index.train, normalization, request.policy);
    source.test = packed_pixels(shards, index.test, normalization, request.policy);
    return source;
  }
  const int size = request.size != 0 || index.shape.height != 0 ? request.size : request.size_if_unequal;
  if (size == 0 && index.shape.height == 0)
    throw RequestError(fmt::format(
        "the images of '{}' differ in size; set data.size, such as data.size = 224", request.path.string()));
  const Decoding decoding{.shape = size == 0 ? index.shape : Shape{index.shape.channels, size, size},
                          .resize = size != 0};
  const Normalization normalization =
      choose_normalization(request, index.classes, decoding.shape, index.normalization);
  const auto set = [&](std::span<const PackedEntry> entries) {
    return std::make_shared<DecodedSet>(packed_files(shards, entries), static_cast<int>(index.classes.size()),
                                        decoding, normalization, request.policy);
  };
  source.train = set(index.train);
  source.test = set(index.test);
  return source;
}

}  // namespace veche
