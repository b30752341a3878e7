#include "veche/data/table/table_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/data/table/cell.h"
#include "veche/errors.h"

namespace veche {
namespace {

std::vector<std::int32_t> translation(const std::vector<std::string>& from,
                                      const std::vector<std::string>& to) {
  std::vector<std::int32_t> places;
  for (const std::string& name : from) places.push_back(place_in(to, name));
  return places;
}

bool is_unknown(const std::vector<std::int32_t>& categories, float cell) {
  return !std::isnan(cell) && categories[static_cast<std::size_t>(cell)] < 0;
}

}  // namespace

TableSet::TableSet(std::shared_ptr<const Table> table, const std::vector<std::uint32_t>& rows,
                   std::shared_ptr<const TableScheme> scheme, const DamagePolicy& policy,
                   std::size_t most_kept)
    : table_(std::move(table)),
      scheme_(std::move(scheme)),
      encoder_(*scheme_),
      width_(scheme_->width()),
      rows_(rows) {
  find_sources();
  leave_out_unknown(policy);
  if (EncodedRows::bytes(rows_.size(), width_) <= most_kept) keep_encoded();
}

void TableSet::find_sources() {
  for (const TableScheme::Column& column : scheme_->columns) {
    const auto found = std::ranges::find(table_->inputs(), column.name, &Table::Column::name);
    if (found == table_->inputs().end() || found->kind != column.kind)
      throw RequestError(fmt::format("'{}' has no column '{}' of {}, which the run's tables have",
                                     table_->path().string(), column.name, word_of(column.kind)));
    sources_.push_back({static_cast<std::size_t>(found - table_->inputs().begin()),
                        translation(found->categories, column.categories)});
  }
  target_.cell = table_->inputs().size();
  if (!table_->target() || table_->target()->name != scheme_->target.name)
    throw RequestError(fmt::format("'{}' has no target '{}'", table_->path().string(), scheme_->target.name));
  target_.categories = translation(table_->target()->categories, scheme_->target.classes);
}

void TableSet::leave_out_unknown(const DamagePolicy& policy) {
  const auto leave_out = [&](const Source& source, const std::string& column,
                             const std::vector<std::string>& names, const char* what) {
    if (std::ranges::none_of(source.categories, [](std::int32_t place) { return place < 0; })) return;
    std::size_t told = 0;
    std::erase_if(rows_, [&](std::uint32_t row) {
      const float cell = table_->row(row)[source.cell];
      if (!is_unknown(source.categories, cell)) return false;
      const bool tells = policy.on == OnDamage::refuse || told++ < DamageLog::kKept;
      policy.found(fmt::format("'{}', line {}: {} is '{}', a {} that no training row has",
                               table_->path().string(), tells ? table_->line_of(row) : 0, column,
                               shown(names[static_cast<std::size_t>(cell)]), what));
      return true;
    });
  };
  for (std::size_t i = 0; i < sources_.size(); ++i)
    if (scheme_->columns[i].kind == ColumnKind::category)
      leave_out(sources_[i], scheme_->columns[i].name, table_->inputs()[sources_[i].cell].categories,
                "category");
  if (scheme_->target.task == Task::classification)
    leave_out(target_, scheme_->target.name, table_->target()->categories, "class");
}

void TableSet::keep_encoded() {
  encoded_ = EncodedRows(rows_.size(), width_);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const float* const cells = table_->row(rows_[i]);
    encode(cells, encoded_.inputs(i));
    encoded_.target(i) = target(cells);
  }
}

float TableSet::target(const float* cells) const {
  const float cell = cells[target_.cell];
  if (scheme_->target.task == Task::regression) return cell;
  return static_cast<float>(target_.categories[static_cast<std::size_t>(cell)]);
}

std::int64_t TableSet::label(std::size_t index) const {
  return scheme_->target.task == Task::regression ? 0 : static_cast<std::int64_t>(value(index));
}

float TableSet::value(std::size_t index) const {
  return encoded_.rows() > 0 ? encoded_.target(index) : target(table_->row(rows_[index]));
}

void TableSet::read(std::size_t index, std::span<float> out) const {
  if (encoded_.rows() > 0)
    std::ranges::copy(encoded_.inputs(index), out.begin());
  else
    encode(table_->row(rows_[index]), out);
}

void TableSet::read_many(std::span<const std::uint32_t> samples, const Room& room) const {
  const auto put_target = [&](std::size_t place, float target) {
    if (room.labels != nullptr) room.labels[place] = static_cast<std::int64_t>(target);
    if (room.values != nullptr) room.values[place] = target;
  };
  if (encoded_.rows() > 0) {
    if (room.inputs != nullptr) return encoded_.gather(samples, room.inputs, put_target);
    for (std::size_t i = 0; i < samples.size(); ++i) put_target(i, encoded_.target(samples[i]));
    return;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i + kRowsAhead < samples.size())
      fetch_row(table_->row(rows_[samples[i + kRowsAhead]]), table_->inputs().size() + 1);
    const float* const cells = table_->row(rows_[samples[i]]);
    if (room.inputs != nullptr) encode(cells, {room.inputs + i * width_, width_});
    put_target(i, target(cells));
  }
}

void TableSet::encode(const float* cells, std::span<float> out) const {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    const float cell = cells[source.cell];
    if (scheme_->columns[i].kind == ColumnKind::category)
      encoder_.put_category(i, std::isnan(cell) ? -1 : source.categories[static_cast<std::size_t>(cell)],
                            out);
    else
      encoder_.put_number(i, cell, out);
  }
}

std::vector<std::string> TableSet::texts(std::size_t index) const {
  const float* const row = table_->row(rows_[index]);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const float cell = row[sources_[i].cell];
    const ColumnKind kind = scheme_->columns[i].kind;
    if (std::isnan(cell))
      texts.emplace_back();
    else if (kind == ColumnKind::category)
      texts.push_back(table_->inputs()[sources_[i].cell].categories[static_cast<std::size_t>(cell)]);
    else
      texts.push_back(kind == ColumnKind::date ? date_text(cell) : fmt::format("{}", cell));
  }
  return texts;
}

}  // namespace veche
