#include "veche/data/table/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "veche/base/thread/mutex.h"
#include "veche/data/table/block_cells.h"
#include "veche/data/table/cell.h"
#include "veche/data/table/csv_text.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

// Adds up cells of one stored column: the categories by number, the others around a first value, so
// that little is lost where values lie close together and far from zero.
class CellSums {
 public:
  void add(float cell, bool is_category) {
    if (std::isnan(cell)) {
      ++missing_;
    } else if (is_category) {
      const auto number = static_cast<std::size_t>(cell);
      if (number >= rows_of_.size()) rows_of_.resize(number + 1);
      ++rows_of_[number];
    } else {
      if (count_++ == 0) first_ = cell;
      const double apart = static_cast<double>(cell) - first_;
      sum_ += apart;
      squares_ += apart * apart;
    }
  }
  void add_to(ColumnSums& sums, const std::vector<std::string>& names) const {
    ColumnSums mine{.name = {}, .missing = missing_, .count = count_};
    if (count_ > 0) {
      const double shift = sum_ / static_cast<double>(count_);
      mine.mean = first_ + shift;
      mine.squares = std::max(0.0, squares_ - sum_ * shift);
    }
    for (std::size_t i = 0; i < rows_of_.size(); ++i)
      if (rows_of_[i] > 0) mine.categories[names[i]] = rows_of_[i];
    sums.add(mine);
  }

 private:
  std::uint64_t missing_ = 0, count_ = 0;
  double first_ = 0, sum_ = 0, squares_ = 0;
  std::vector<std::uint64_t> rows_of_;
};

}  // namespace

// Several threads take blocks of the file in turn and read them; their cells are kept in the order
// of the file, so that the result does not depend on the threads.
class Table::Reading {
 public:
  Reading(Table& table, const TestRows& test, const DamagePolicy& policy)
      : table_(table), test_(test), policy_(policy) {}

  void run(CsvFile& file, CsvFile::Block first, ReadPlan& plan, int threads) {
    plan_ = &plan;
    {
      std::vector<std::jthread> others;
      for (int i = 1; i < threads; ++i) others.emplace_back([&] { work(file, {}); });
      work(file, std::move(first));
    }
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work(CsvFile& file, CsvFile::Block block) {
    try {
      BlockReader reader(*plan_);
      BlockCells cells;
      bool has_block = !block.memory.empty();
      for (;;) {
        if (!has_block && !take(file, block)) return;
        has_block = false;
        reader.read(block.rows(), cells);
        if (!keep(block, cells)) return;
      }
    } catch (...) {
      const MutexLock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  bool take(CsvFile& file, CsvFile::Block& block) {
    const MutexLock lock(file_mutex_);
    {
      const MutexLock other(mutex_);
      if (failure_) return false;
    }
    return file.next(block);
  }

  // Waits for its turn; false: reading has failed.
  bool keep(const CsvFile::Block& block, const BlockCells& cells) {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [&]() VECHE_REQUIRES(mutex_) { return failure_ || next_ == block.number; });
    if (failure_) return false;
    note_problems(block, cells);
    add_rows(cells);
    ++next_;
    changed_.notify_all();
    return true;
  }

  void note_problems(const CsvFile::Block& block, const BlockCells& cells) VECHE_REQUIRES(mutex_) {
    std::vector<std::uint64_t> lines;  // before each row
    for (const BlockCells::Problem& problem : cells.problems) {
      table_.left_out_.push_back(rows_seen_ + problem.row);
      // The log keeps a few sentences.
      if (policy_.on == OnDamage::skip && table_.left_out_.size() > DamageLog::kKept) {
        policy_.found({});
        continue;
      }
      if (lines.empty()) lines = lines_of_rows(block.rows(), plan_->separator);
      policy_.found(fmt::format("'{}', line {}: {}", table_.path_.string(),
                                block.first_line + lines[problem.row], problem.what));
    }
    rows_seen_ += cells.all;
  }

  void add_rows(const BlockCells& cells) VECHE_REQUIRES(mutex_) {
    const std::size_t stride = table_.stride_;
    if (table_.rows_ + cells.good > std::numeric_limits<std::uint32_t>::max())
      throw RequestError(fmt::format("'{}' has more than 4,294,967,295 rows", table_.path_.string()));
    std::vector<CellSums> sums(stride);
    for (std::size_t i = 0; i < cells.good; ++i) {
      const std::size_t row = table_.rows_ + i;
      const bool is_test =
          plan_->condition != nullptr
              ? cells.fulfils[i] != 0
              : test_.share > 0 && RandomStream(test_.seed, "test rows", row).uniform() < test_.share;
      (is_test ? table_.test_ : table_.train_).push_back(static_cast<std::uint32_t>(row));
      if (is_test) continue;
      const float* const of_row = cells.cells.data() + i * stride;
      for (std::size_t c = 0; c < stride; ++c) sums[c].add(of_row[c], plan_->names[c] != nullptr);
    }
    table_.rows_ += cells.good;
    table_.cells_.append(cells.cells);
    for (std::size_t c = 0; c < stride; ++c) {
      ColumnSums& whole = c < table_.sums_.columns.size() ? table_.sums_.columns[c] : table_.sums_.target;
      sums[c].add_to(whole, plan_->names[c] ? names_of(c) : std::vector<std::string>());
    }
  }

  std::vector<std::string> names_of(std::size_t column) const {
    std::vector<std::string> names = plan_->names[column]->names();
    if (names.size() < CategoryNames::kMost) return names;
    const std::string& name =
        column < table_.inputs_.size() ? table_.inputs_[column].name : table_.target_->name;
    throw RequestError(fmt::format(
        "'{}': column '{}' holds {} different texts or more; leave it out with data.ignore = [\"{}\"], or "
        "read it as numbers with data.numbers",
        table_.path_.string(), name, CategoryNames::kMost, name));
  }

  Table& table_;
  const TestRows& test_;
  const DamagePolicy& policy_;
  ReadPlan* plan_ = nullptr;

  Mutex file_mutex_;  // guards the file
  Mutex mutex_;       // guards the table too
  ConditionVariable changed_;
  std::size_t next_ VECHE_GUARDED_BY(mutex_) = 0;  // the block whose turn it is
  std::uint64_t rows_seen_ VECHE_GUARDED_BY(mutex_) = 0;
  std::exception_ptr failure_ VECHE_GUARDED_BY(mutex_);
};

Table::Table(const std::filesystem::path& path, const DataSettings& settings, const TableScheme* scheme,
             const TestRows& test, const DamagePolicy& policy, int threads)
    : path_(path) {
  CsvFile file(path);
  CsvFile::Block first;
  if (!file.next(first))
    throw RequestError(fmt::format("'{}' has no rows after its first line", path.string()));
  separator_ = file.separator();
  const TableLayout layout =
      scheme != nullptr ? layout_of(file, *scheme) : find_layout(file, first.rows(), settings);
  std::optional<RowCondition> condition;
  if (!test.condition.empty()) condition.emplace(test.condition, file.columns());
  ReadPlan plan(layout, file, condition ? &*condition : nullptr);
  stride_ = plan.stride();
  task_ = sums_.task = layout.task;
  for (const TableLayout::Column& column : layout.inputs) {
    inputs_.push_back({column.name, column.kind, {}});
    sums_.columns.push_back({.name = column.name, .kind = column.kind});
  }
  if (layout.target) {
    target_ = {layout.target->name, layout.target->kind, {}};
    sums_.target = {.name = layout.target->name, .kind = layout.target->kind};
  }
  Reading(*this, test, policy).run(file, std::move(first), plan, threads);
  cells_.finish();
  for (std::size_t c = 0; c < stride_; ++c)
    if (plan.names[c]) (c < inputs_.size() ? inputs_[c] : *target_).categories = plan.names[c]->names();
  if (rows_ == 0) throw RequestError(fmt::format("'{}' has no row that can be read", path.string()));
}

std::uint64_t Table::line_of(std::size_t row) const {
  // Rows that were left out count too.
  std::uint64_t in_file = row;
  for (const std::uint64_t left : left_out_)
    if (left <= in_file) ++in_file;
  CsvFile file(path_);
  struct Counter {
    void cell(std::string_view /*text*/) {}
    void end_row() { ++rows; }
    std::uint64_t rows = 0;
  };
  CsvFile::Block block;
  for (std::uint64_t before = 0; file.next(block);) {
    Counter counter;
    CsvRows(separator_).parse(block.rows(), counter);
    if (before + counter.rows > in_file)
      return block.first_line + lines_of_rows(block.rows(), separator_)[in_file - before];
    before += counter.rows;
  }
  return 0;
}

}  // namespace veche
