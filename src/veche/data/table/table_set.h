#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/data/sets/bulk_samples.h"
#include "veche/data/table/encoded_rows.h"
#include "veche/data/table/row_encoder.h"
#include "veche/data/table/table.h"
#include "veche/dataset.h"

namespace veche {

// Rows of a table as samples. Classes are the scheme's; numbers as targets are in the table's
// units. The encoded rows are kept in memory if they fit into a bound; otherwise each is encoded when
// it is read.
class TableSet final : public Dataset, public BulkSamples, private ValueTargets {
 public:
  // Rows with a category that the scheme lacks are damage: refused with a sentence, or left out.
  // `most_kept`: bytes of encoded rows.
  TableSet(std::shared_ptr<const Table> table, const std::vector<std::uint32_t>& rows,
           std::shared_ptr<const TableScheme> scheme, const DamagePolicy& policy,
           std::size_t most_kept = kMostKept);

  static constexpr std::size_t kMostKept = 128 << 20;

  std::size_t size() const override { return rows_.size(); }
  Shape shape() const override { return {static_cast<int>(width_), 1, 1}; }
  int classes() const override { return static_cast<int>(scheme_->target.classes.size()); }
  std::int64_t label(std::size_t index) const override;
  void read(std::size_t index, std::span<float> out) const override;
  void read_many(std::span<const std::uint32_t> samples, const Room& room) const override;
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
  void keep_encoded();
  void encode(const float* cells, std::span<float> out) const;
  float target(const float* cells) const;  // the place of a class, or a number

  const std::shared_ptr<const Table> table_;
  const std::shared_ptr<const TableScheme> scheme_;
  const RowEncoder encoder_;
  const std::size_t width_;
  std::vector<std::uint32_t> rows_;  // of the table, by sample
  std::vector<Source> sources_;      // by column of the scheme
  Source target_;
  EncodedRows encoded_;  // by sample; none: there are too many
};

}  // namespace veche
