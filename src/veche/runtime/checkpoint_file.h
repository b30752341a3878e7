#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "veche/train/loop/checkpointer.h"

namespace veche {

// One node's file of a checkpoint. The format is in docs/checkpoints.md.

struct CheckpointHeader {
  std::array<char, 8> magic = {'v', 'e', 'c', 'h', 'e', 'c', 'k', '2'};  // the last one is the version
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint64_t step = 0;
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  double evaluated_loss_sum = 0;
  std::int64_t evaluated_correct = 0;
  std::int64_t evaluated_count = 0;
  std::uint64_t trains = 1;   // 0 or 1; not in version 1, where all did
  std::uint64_t numbers = 0;  // how many; not in version 1, which has none
  std::uint64_t vectors = 0;
};

// Under this name once it is whole and synced. Throws RunError.
void write_checkpoint(const std::filesystem::path& file, NodeId node, int nodes, const NodeState& state);

// One pass over a file that only tells whether its checksum is right.
bool is_whole_checkpoint(const std::filesystem::path& file);

// Reads a whole one. Throws RunError when it is damaged all the same, RequestError when it is of a later
// version.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::filesystem::path file);

  const std::filesystem::path& path() const { return path_; }
  const CheckpointHeader& header() const { return header_; }
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }  // of the vectors
  // Its first vectors are as long as these; RequestError otherwise.
  void check_begins_with(const std::vector<std::span<float>>& vectors) const;
  [[noreturn]] void does_not_fit() const;
  // The next of the vectors.
  void take(std::span<float> vector) { read(std::as_writable_bytes(vector)); }

 private:
  void read(std::span<std::byte> into);

  const std::filesystem::path path_;
  std::ifstream in_;
  CheckpointHeader header_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace veche
