#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/data/table/row_encoder.h"
#include "veche/data/table/table.h"
#include "veche/dataset.h"

namespace veche {

// Rows of a table as samples. Classes are the scheme's; numbers as targets are in the table's units.
class TableSet final : public Dataset, private ValueTargets {
 public:
  // Rows with a category that the scheme lacks are damage: refused with a sentence, or left out.
  TableSet(std::shared_ptr<const Table> table, const std::vector<std::uint32_t>& rows,
           std::shared_ptr<const TableScheme> scheme, const DamagePolicy& policy);

  std::size_t size() const override { return rows_.size(); }
  Shape shape() const override { return {static_cast<int>(width_), 1, 1}; }
  int classes() const override { return static_cast<int>(scheme_->target.classes.size()); }
  std::int64_t label(std::size_t index) const override;
  void read(std::size_t index, std::span<float> out) const override;
  const ValueTargets* values() const override {
    return scheme_->target.task == Task::regression ? this : nullptr;
  }

  // The cells of a sample by column of the scheme, as texts that RowEncoder::encode reads; empty:
  // missing.
  std::vector<std::string> texts(std::size_t index) const;

  const std::shared_ptr<const TableScheme>& scheme() const { return scheme_; }
  const std::shared_ptr<const Table>& table() const { return table_; }

 private:
  float value(std::size_t index) const override;
  double mean() const override { return scheme_->target.mean; }
  double deviation() const override { return scheme_->target.deviation; }

  // Where a column of the scheme is in the table, and which categories its numbers mean; negative:
  // the scheme lacks it.
  struct Source {
    std::size_t cell = 0;
    std::vector<std::int32_t> categories;
  };
  void find_sources();
  void leave_out_unknown(const DamagePolicy& policy);

  const std::shared_ptr<const Table> table_;
  const std::shared_ptr<const TableScheme> scheme_;
  const RowEncoder encoder_;
  const std::size_t width_;
  std::vector<std::uint32_t> rows_;  // of the table, by sample
  std::vector<Source> sources_;      // by column of the scheme
  Source target_;
};

}  // namespace veche
