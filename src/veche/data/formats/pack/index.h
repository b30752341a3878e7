#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/data/sets/pixel_set.h"

namespace veche {

// The index of a packed set: the description and position of every sample. Format in
// docs/data-internals.md.
struct PackedEntry {
  std::uint64_t offset = 0;    // in its shard: the name, then the bytes
  std::uint64_t checksum = 0;  // XXH3 of the name and the bytes
  std::uint32_t length = 0;    // of the bytes
  std::uint32_t label = 0;
  std::uint16_t shard = 0;
  std::uint16_t name_length = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PackedEntry) == 32);

struct PackedIndex {
  // original JPEG and PNG files, or decoded pixels
  enum class Kind : std::uint32_t { files = 0, pixels = 1 };

  Kind kind = Kind::files;
  Shape shape;  // height and width are 0 for files of different sizes
  Normalization normalization;
  std::vector<std::string> classes;
  std::vector<std::uint64_t> shard_sizes;
  std::span<const PackedEntry> train, test;  // point into the parsed memory
};

constexpr const char* kPackedIndexName = "index.veche";
std::string shard_name(std::size_t shard);  // "00000.shard"

std::uint64_t packed_checksum(std::span<const std::uint8_t> bytes);

// `bytes` must outlive the index and be aligned as memory from mmap or malloc. All fields are
// cross-checked, so a reader may trust them. Throws RequestError with `name`.
PackedIndex parse_packed_index(std::span<const std::uint8_t> bytes, const std::string& name);

std::vector<std::uint8_t> write_packed_index(const PackedIndex& index);

}  // namespace veche
