#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "veche/base/files/files.h"
#include "veche/data/formats/pack/index.h"

namespace veche {

// Writes a packed set into a hidden temporary folder beside the target and renames it when
// everything is on disk: whenever it is interrupted, the set is either complete or absent. The next
// writer removes the remains of a killed one. Two concurrent writers of one set refuse each other.
// One thread at a time.
class PackWriter {
 public:
  // Throws RequestError if `out` exists, its parent does not, or another process is writing it.
  PackWriter(const std::filesystem::path& out, std::uint64_t shard_bytes);
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;
  ~PackWriter();  // without commit, nothing remains

  // Training samples first, then test samples.
  void add(const std::string& name, std::uint32_t label, std::span<const std::uint8_t> bytes, bool test);
  // `facts`: the index without entries and shards.
  void commit(PackedIndex facts);

  std::uint64_t bytes_written() const { return total_; }

 private:
  void begin_shard();

  const std::filesystem::path out_;
  const std::filesystem::path unfinished_;
  const std::uint64_t shard_bytes_;
  int lock_ = -1;
  std::unique_ptr<OutputFile> shard_;
  std::vector<std::uint8_t> buffer_;  // bytes of the shard not yet written
  std::vector<std::uint64_t> shard_sizes_;
  std::vector<PackedEntry> train_, test_;
  std::uint64_t total_ = 0;
  bool committed_ = false;
};

}  // namespace veche
