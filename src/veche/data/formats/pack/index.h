#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/data/sets/pixel_set.h"

namespace veche {

// The index of a packed set (docs/data.md has the format): what each sample is and where it lies.
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
  enum class Kind : std::uint32_t { files = 0, pixels = 1 };  // JPEG and PNG as they were; or decoded

  Kind kind = Kind::files;
  Shape shape;  // of files that differ in size, height and width are 0
  Normalization normalization;
  std::vector<std::string> classes;
  std::vector<std::uint64_t> shard_sizes;
  std::span<const PackedEntry> train, test;  // in the memory that was parsed
};

constexpr const char* kPackedIndexName = "index.veche";
std::string shard_name(std::size_t shard);  // "00000.shard"

std::uint64_t packed_checksum(std::span<const std::uint8_t> bytes);

// `bytes` must stay, and be aligned as memory from a mapping or an allocation is. Everything is checked
// against everything else, so that a reader may trust it. Throws RequestError with `name`.
PackedIndex parse_packed_index(std::span<const std::uint8_t> bytes, const std::string& name);

std::vector<std::uint8_t> write_packed_index(const PackedIndex& index);

}  // namespace veche
