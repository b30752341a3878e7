#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/pack/index.h"
#include "veche/data/sets/encoded_set.h"
#include "veche/data/sets/pixel_set.h"

namespace veche {

// An open packed set: index and shards are mapped, and nothing is read or copied until a sample is
// requested. Any thread.
class PackedShards {
 public:
  // Throws RequestError. A shard that is missing or too short is reported to `policy`; its samples
  // are damaged.
  PackedShards(const std::filesystem::path& folder, const DamagePolicy& policy);

  const PackedIndex& index() const { return index_; }
  std::string name(const PackedEntry& entry) const;  // includes the shard
  std::string name_inside(const PackedEntry& entry) const;
  // The bytes, after verifying their checksum. Throws Damaged if it does not match.
  std::span<const std::uint8_t> bytes(const PackedEntry& entry) const;

 private:
  std::span<const std::uint8_t> name_and_bytes(const PackedEntry& entry) const;

  const std::filesystem::path folder_;
  const MappedFile index_file_;
  const PackedIndex index_;
  std::vector<std::unique_ptr<const MappedFile>> shards_;  // null: missing
};

// One part as image files, for sets packed undecoded.
std::shared_ptr<const EncodedSet> packed_files(std::shared_ptr<const PackedShards> shards,
                                               std::span<const PackedEntry> entries);
// One part as pixels, for sets packed decoded.
std::shared_ptr<const PixelSet> packed_pixels(std::shared_ptr<const PackedShards> shards,
                                              std::span<const PackedEntry> entries,
                                              const Normalization& normalization, DamagePolicy policy);

}  // namespace veche
