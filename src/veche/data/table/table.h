#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/data/sets/damage.h"
#include "veche/data/table/cell_store.h"
#include "veche/data/table/layout.h"

namespace veche {

// Which rows are kept apart for testing.
struct TestRows {
  std::string condition;  // on the columns of the file (expression.h); empty: by share
  double share = 0;
  std::uint64_t seed = 1;
};

// The cells of a CSV file that a model needs, in memory or mapped, as they are: nothing is scaled.
// Immutable; any thread may read.
class Table {
 public:
  // Reads the file with several threads. `scheme`: the columns and kinds that it must have; null:
  // they follow from the settings and the first rows. Damaged rows are left out under
  // data.bad = "skip". Throws RequestError naming file and line.
  Table(const std::filesystem::path& path, const DataSettings& settings, const TableScheme* scheme,
        const TestRows& test, const DamagePolicy& policy, int threads);

  struct Column {
    std::string name;
    ColumnKind kind = ColumnKind::number;
    std::vector<std::string> categories;  // in order of appearance
  };
  const std::filesystem::path& path() const { return path_; }
  const std::vector<Column>& inputs() const { return inputs_; }
  const std::optional<Column>& target() const { return target_; }
  Task task() const { return task_; }
  std::size_t size() const { return rows_; }
  // One number for each input, then the target: a number, a date, or the place of a category in
  // `categories`; NaN where the value is missing.
  const float* row(std::size_t index) const { return cells_.data() + index * stride_; }

  const std::vector<std::uint32_t>& train_rows() const { return train_; }
  const std::vector<std::uint32_t>& test_rows() const { return test_; }
  const TableSums& sums() const { return sums_; }  // of the training rows
  // The line of a row in the file, counted from 1. Reads the file again.
  std::uint64_t line_of(std::size_t row) const;

 private:
  class Reading;

  const std::filesystem::path path_;
  char separator_ = ',';
  std::vector<Column> inputs_;
  std::optional<Column> target_;
  Task task_ = Task::classification;
  std::size_t stride_ = 0, rows_ = 0;
  CellStore cells_;
  std::vector<std::uint32_t> train_, test_;
  std::vector<std::uint64_t> left_out_;  // damaged rows, counted in the file
  TableSums sums_;
};

}  // namespace veche
