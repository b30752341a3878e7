#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/pack/index.h"
#include "veche/data/sets/encoded_set.h"
#include "veche/data/sets/pixel_set.h"

namespace veche {

// An opened packed set: index and shards mapped into memory, nothing read or copied until a sample is asked
// for. Any thread.
class PackedShards {
 public:
  // Throws RequestError; a shard that is missing or too short goes to `policy`, and its samples are damaged.
  PackedShards(const std::filesystem::path& folder, const DamagePolicy& policy);

  const PackedIndex& index() const { return index_; }
  std::string name(const PackedEntry& entry) const;  // with its shard
  std::string name_inside(const PackedEntry& entry) const;
  // The bytes, after their checksum was found right; throws Damaged when it is not.
  std::span<const std::uint8_t> bytes(const PackedEntry& entry) const;

 private:
  std::span<const std::uint8_t> name_and_bytes(const PackedEntry& entry) const;

  const std::filesystem::path folder_;
  const MappedFile index_file_;
  const PackedIndex index_;
  std::vector<std::unique_ptr<const MappedFile>> shards_;  // null: missing
};

// One part of it as image files, for sets that were packed as they were.
std::shared_ptr<const EncodedSet> packed_files(std::shared_ptr<const PackedShards> shards,
                                               std::span<const PackedEntry> entries);
// One part of it as pixels, for sets that were packed decoded.
std::shared_ptr<const PixelSet> packed_pixels(std::shared_ptr<const PackedShards> shards,
                                              std::span<const PackedEntry> entries,
                                              const Normalization& normalization, DamagePolicy policy);

}  // namespace veche
