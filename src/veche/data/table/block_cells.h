#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/data/table/csv_rows.h"
#include "veche/data/table/expression.h"
#include "veche/data/table/layout.h"

namespace veche {

// The categories of a column, numbered in order of appearance. Any thread.
class CategoryNames {
 public:
  static constexpr std::size_t kMost = 1000;

  // The category's number; kMost: there are too many.
  std::size_t number(std::string_view name);
  std::vector<std::string> names() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  friend class BlockReader;
  using Numbers = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

  mutable Mutex mutex_;
  Numbers numbers_ VECHE_GUARDED_BY(mutex_);
  std::vector<std::string> names_ VECHE_GUARDED_BY(mutex_);
};

// What the threads that read a table share.
struct ReadPlan {
  const TableLayout& layout;
  const std::vector<std::string>& columns;  // of the file
  char separator = ',';
  const RowCondition* condition = nullptr;
  std::vector<std::unique_ptr<CategoryNames>> names;  // by stored column; null where it has no categories
  bool needs_target = true;                           // a row without it is damaged

  ReadPlan(const TableLayout& layout, const CsvFile& file, const RowCondition* condition,
           bool needs_target = true);
  std::size_t stride() const { return names.size(); }
};

// The cells of a block of rows.
struct BlockCells {
  struct Problem {
    std::size_t row;  // of the block
    std::string what;
  };
  std::vector<float> cells;       // of the good rows
  std::vector<char> fulfils;      // by good row: the condition holds
  std::vector<Problem> problems;  // of the others
  std::size_t good = 0, all = 0;  // rows

  void clear();
};

// Turns blocks of rows into cells. One thread.
class BlockReader {
 public:
  explicit BlockReader(ReadPlan& plan);
  void read(std::string_view rows, BlockCells& out);

  // Called by CsvRows.
  void cell(std::string_view text) noexcept;
  void end_row() noexcept;

 private:
  struct Use {
    bool stored = false;
    std::size_t at = 0;  // of the stored columns
    ColumnKind kind = ColumnKind::number;
    bool is_target = false;
    std::size_t compared = kNotCompared;  // of the condition's cells
  };
  static constexpr std::size_t kNotCompared = ~std::size_t{0};

  void store(const Use& use, std::string_view text);
  float category(const Use& use, std::string_view text);
  void refuse(const std::string& what);

  ReadPlan& plan_;
  CsvRows rows_;
  std::vector<Use> uses_;                      // by column of the file
  std::vector<CategoryNames::Numbers> known_;  // by stored column: the names that this thread has seen
  std::vector<std::string> compared_;
  BlockCells* out_ = nullptr;
  std::size_t column_ = 0;
  std::string problem_;  // of the present row
};

}  // namespace veche
