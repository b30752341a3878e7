#pragma once

#include <filesystem>
#include <vector>

#include "veche/comm/allreduce/allreduce.h"

namespace veche {

// The algorithm that `auto` uses for a number of nodes and bytes. Either built in, or measured by
// `veche bench allreduce --tune FILE` and read from that file.
class AllReduceTable {
 public:
  struct Row {
    int nodes = 0;
    std::size_t bytes = 0;
    AllReduceAlgorithm algorithm = AllReduceAlgorithm::ring;
  };

  // At least one row, in any order.
  explicit AllReduceTable(std::vector<Row> rows) : rows_(std::move(rows)) {}

  // Throws RequestError if the file is not such a table.
  static AllReduceTable read(const std::filesystem::path& file);
  // Throws RunError if the file cannot be written.
  void write(const std::filesystem::path& file) const;

  // The algorithm of the nearest row by ratio: first by nodes, then by bytes.
  AllReduceAlgorithm choose(int nodes, std::size_t bytes) const;

 private:
  std::vector<Row> rows_;
};

// The built-in table: the engine's own collective where there is one, else an algorithm by
// messages. Up to 16 nodes both sum in the order of nodes, so the result does not depend on the
// choice. `overlapping`: for sums that begin while nodes compute.
const AllReduceTable& default_table(Endpoint& endpoint, bool overlapping = false);

}  // namespace veche
