#include "veche/data/formats/pack/packed_set.h"

#include <fmt/format.h>

#include "veche/data/sets/substitutes.h"

namespace veche {
namespace {

std::uint64_t samples_in(const PackedIndex& index, std::size_t shard) {
  std::uint64_t count = 0;
  for (const auto& part : {index.train, index.test})
    for (const PackedEntry& entry : part) count += entry.shard == shard ? 1 : 0;
  return count;
}

class PackedFiles final : public EncodedSet {
 public:
  PackedFiles(std::shared_ptr<const PackedShards> shards, std::span<const PackedEntry> entries)
      : shards_(std::move(shards)), entries_(entries) {}

  std::size_t size() const override { return entries_.size(); }
  std::int64_t label(std::size_t index) const override { return entries_[index].label; }
  std::string name(std::size_t index) const override { return shards_->name(entries_[index]); }
  std::string name_inside(std::size_t index) const override { return shards_->name_inside(entries_[index]); }
  std::span<const std::uint8_t> bytes(std::size_t index, std::vector<std::uint8_t>&) const override {
    return shards_->bytes(entries_[index]);
  }

 private:
  const std::shared_ptr<const PackedShards> shards_;
  const std::span<const PackedEntry> entries_;
};

class PackedPixels final : public PixelSet {
 public:
  PackedPixels(std::shared_ptr<const PackedShards> shards, std::span<const PackedEntry> entries,
               const Normalization& normalization, DamagePolicy policy)
      : PixelSet(shards->index().shape, normalization),
        shards_(std::move(shards)),
        entries_(entries),
        substitutes_({.size = entries.size(),
                      .label = [entries](std::size_t i) { return std::int64_t{entries[i].label}; },
                      .name = [this](std::size_t i) { return shards_->name(entries_[i]); }},
                     std::move(policy)) {}

  std::size_t size() const override { return entries_.size(); }
  int classes() const override { return static_cast<int>(shards_->index().classes.size()); }
  std::int64_t label(std::size_t index) const override { return entries_[index].label; }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t>) const override {
    return substitutes_.read(index, [&](std::size_t i) { return shards_->bytes(entries_[i]); });
  }

 private:
  const std::shared_ptr<const PackedShards> shards_;
  const std::span<const PackedEntry> entries_;
  const Substitutes substitutes_;
};

}  // namespace

PackedShards::PackedShards(const std::filesystem::path& folder, const DamagePolicy& policy)
    : folder_(folder),
      index_file_(folder / kPackedIndexName),
      index_(parse_packed_index(index_file_.octets(), (folder / kPackedIndexName).string())) {
  for (std::size_t shard = 0; shard < index_.shard_sizes.size(); ++shard) {
    const std::filesystem::path path = folder / shard_name(shard);
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    std::string why;
    if (error) why = "is missing";
    if (!error && size != index_.shard_sizes[shard])
      why = fmt::format("holds {} bytes where the index promises {}", size, index_.shard_sizes[shard]);
    // Its samples are counted when they are read and found damaged.
    if (!why.empty())
      policy.found(
          fmt::format("shard '{}' with {} samples {}", path.string(), samples_in(index_, shard), why), 0);
    shards_.push_back(why.empty() ? std::make_unique<const MappedFile>(path) : nullptr);
  }
}

std::span<const std::uint8_t> PackedShards::name_and_bytes(const PackedEntry& entry) const {
  const auto& shard = shards_[entry.shard];
  if (!shard) return {};
  const auto all = shard->octets().subspan(entry.offset, std::size_t{entry.name_length} + entry.length);
  return shard->still_has(all) ? all : std::span<const std::uint8_t>();
}

std::string PackedShards::name_inside(const PackedEntry& entry) const {
  const auto all = name_and_bytes(entry);
  if (all.empty()) return fmt::format("at byte {}", entry.offset);
  return {all.begin(), all.begin() + entry.name_length};
}

std::string PackedShards::name(const PackedEntry& entry) const {
  return fmt::format("{}: {}", (folder_ / shard_name(entry.shard)).string(), name_inside(entry));
}

std::span<const std::uint8_t> PackedShards::bytes(const PackedEntry& entry) const {
  const auto all = name_and_bytes(entry);
  if (all.empty()) throw Damaged("lies in a shard that is missing or was cut off");
  if (packed_checksum(all) != entry.checksum) throw Damaged("has a bad checksum");
  return all.subspan(entry.name_length);
}

std::shared_ptr<const EncodedSet> packed_files(std::shared_ptr<const PackedShards> shards,
                                               std::span<const PackedEntry> entries) {
  return std::make_shared<PackedFiles>(std::move(shards), entries);
}

std::shared_ptr<const PixelSet> packed_pixels(std::shared_ptr<const PackedShards> shards,
                                              std::span<const PackedEntry> entries,
                                              const Normalization& normalization, DamagePolicy policy) {
  return std::make_shared<PackedPixels>(std::move(shards), entries, normalization, std::move(policy));
}

}  // namespace veche
