#pragma once

#include <array>
#include <filesystem>
#include <vector>

#include "veche/base/files/input_file.h"
#include "veche/train/loop/checkpointer.h"

namespace veche {

// One node's file of a checkpoint. The format is in docs/checkpoints.md.

struct CheckpointHeader {
  std::array<char, 8> magic = {'v', 'e', 'c', 'h', 'e', 'c', 'k', '3'};  // the last one is the version
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
  std::uint64_t trains = 1;   // 0 or 1; not in version 1, where all nodes trained
  std::uint64_t numbers = 0;  // how many; not in version 1, which has none
  std::uint64_t vectors = 0;
  // Not before version 3.
  std::uint64_t checkpoint = 0;  // the K of step-K
  std::uint64_t run = 0;         // the run's id; 0: unknown
  std::uint64_t counters = 0;    // how many
};

// Identifies one file: its node, run and checkpoint.
struct CheckpointPiece {
  NodeId node = {};
  int nodes = 0;                 // 0: unknown
  std::uint64_t checkpoint = 0;  // the K of step-K
  std::uint64_t run = 0;         // the run's id; 0: unknown
};

// The file has this name once it is complete and synced. Throws RunError.
void write_checkpoint(const std::filesystem::path& file, const CheckpointPiece& piece,
                      const NodeState& state);

// Reads a whole file. Returns what is wrong with it, such as "its checksum is wrong"; empty: it is
// undamaged and the expected piece. Fills in what was unknown of that piece. Throws RequestError
// for a file of a later version.
std::string damage_of(const std::filesystem::path& file, CheckpointPiece& expected);

// Reads an undamaged file. Throws RunError where it is damaged after all, RequestError where it is
// no regular file or of a later version.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::filesystem::path file);

  const std::filesystem::path& path() const { return path_; }
  const CheckpointHeader& header() const { return header_; }
  const std::vector<std::uint64_t>& counters() const { return counters_; }
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }  // of the vectors
  // Throws RequestError unless its first vectors have the lengths of these.
  void check_begins_with(const std::vector<std::span<float>>& vectors) const;
  [[noreturn]] void does_not_fit() const;
  // Reads the next vector.
  void take(std::span<float> vector) { read(std::as_writable_bytes(vector)); }

 private:
  void read(std::span<std::byte> into);

  const std::filesystem::path path_;
  const InputFile in_;
  std::uintmax_t at_ = 0;
  CheckpointHeader header_;
  std::vector<std::uint64_t> counters_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace veche
