#pragma once

#include <filesystem>
#include <vector>

#include "veche/comm/allreduce/allreduce.h"

namespace veche {

// Which all-reduce algorithm to use for so many nodes and bytes: what `auto` goes by. Either built in or
// measured on a machine by `veche bench allreduce --tune FILE` and read from that file.
class AllReduceTable {
 public:
  struct Row {
    int nodes = 0;
    std::size_t bytes = 0;
    AllReduceAlgorithm algorithm = AllReduceAlgorithm::ring;
  };

  // At least one row, in any order.
  explicit AllReduceTable(std::vector<Row> rows) : rows_(std::move(rows)) {}

  // Throws RequestError when the file is not such a table.
  static AllReduceTable read(const std::filesystem::path& file);
  // Throws RunError when the file cannot be written.
  void write(const std::filesystem::path& file) const;

  // Of the row nearest in ratio: first by nodes, then by bytes.
  AllReduceAlgorithm choose(int nodes, std::size_t bytes) const;

 private:
  std::vector<Row> rows_;
};

// The built-in one: the engine's own collective where there is one, else a choice of messages. Both add up in
// the order of nodes up to 16 nodes, so that there the result does not depend on which it was.
// `overlapping`: for sums begun while nodes compute.
const AllReduceTable& default_table(Endpoint& endpoint, bool overlapping = false);

}  // namespace veche
