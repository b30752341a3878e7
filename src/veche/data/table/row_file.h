#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/data/table/block_cells.h"
#include "veche/data/table/row_encoder.h"

namespace veche {

// A CSV file whose rows become a model's samples one block after the other. One thread.
class RowFile {
 public:
  // The scheme outlives it. Throws RequestError where the file lacks a column of the scheme.
  RowFile(const std::filesystem::path& path, const TableScheme& scheme);

  struct Row {
    std::uint64_t line = 0;                 // of the file, counted from 1
    std::vector<float> sample;              // empty: the row cannot be used
    std::string damage;                     // then, why: "AGE is 'x', which is no number"
    std::optional<std::size_t> label = {};  // the target, where the file has it
    std::optional<float> value = {};
  };
  bool has_target() const { return layout_.target.has_value(); }
  // The rows of the next block; empty: there are no more.
  std::vector<Row> next();

 private:
  void learn_names();
  void finish(Row& row, const float* cells) const;

  const TableScheme& scheme_;
  const RowEncoder encoder_;
  CsvFile file_;
  const TableLayout layout_;
  ReadPlan plan_;
  BlockReader reader_;
  CsvFile::Block block_;
  BlockCells cells_;
  std::vector<std::vector<std::string>> names_;        // of the categories, by stored column
  std::vector<std::vector<std::int32_t>> categories_;  // of the scheme, by stored column and number
};

}  // namespace veche
