#include "veche/data/table/block_cells.h"

#include <fmt/format.h>

#include <limits>

#include "veche/data/table/cell.h"

namespace veche {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

}  // namespace

std::size_t CategoryNames::number(std::string_view name) {
  const MutexLock lock(mutex_);
  if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
  if (names_.size() == kMost) return kMost;
  numbers_.emplace(name, names_.size());
  names_.emplace_back(name);
  return names_.size() - 1;
}

std::vector<std::string> CategoryNames::names() const {
  const MutexLock lock(mutex_);
  return names_;
}

ReadPlan::ReadPlan(const TableLayout& given, const CsvFile& file, const RowCondition* of_row,
                   bool with_target)
    : layout(given),
      columns(file.columns()),
      separator(file.separator()),
      condition(of_row),
      needs_target(with_target) {
  const auto add = [&](const TableLayout::Column& column) {
    names.push_back(column.kind == ColumnKind::category ? std::make_unique<CategoryNames>() : nullptr);
  };
  for (const TableLayout::Column& column : layout.inputs) add(column);
  if (layout.target) add(*layout.target);
}

void BlockCells::clear() {
  cells.clear();
  fulfils.clear();
  problems.clear();
  good = all = 0;
}

BlockReader::BlockReader(ReadPlan& plan)
    : plan_(plan), rows_(plan.separator), uses_(plan.columns.size()), known_(plan.stride()) {
  std::size_t at = 0;
  for (const TableLayout::Column& column : plan.layout.inputs)
    uses_[column.place] = {.stored = true, .at = at++, .kind = column.kind};
  if (const auto& target = plan.layout.target)
    uses_[target->place] = {.stored = true, .at = at++, .kind = target->kind, .is_target = true};
  if (plan.condition == nullptr) return;
  compared_.resize(plan.condition->needs().size());
  for (std::size_t i = 0; i < compared_.size(); ++i) uses_[plan.condition->needs()[i]].compared = i;
}

void BlockReader::read(std::string_view rows, BlockCells& out) {
  out.clear();
  out_ = &out;
  column_ = 0;
  out.cells.resize(plan_.stride());
  rows_.parse(rows, *this);
  out.cells.resize(out.good * plan_.stride());
}

void BlockReader::cell(std::string_view text) noexcept {
  if (column_ < uses_.size()) {
    const Use& use = uses_[column_];
    if (use.compared != kNotCompared) compared_[use.compared] = text;
    if (use.stored && problem_.empty()) store(use, text);
  }
  ++column_;
}

void BlockReader::store(const Use& use, std::string_view text) {
  float value = kMissing;
  if (use.kind == ColumnKind::number) {
    if (const auto number = read_number(text))
      value = static_cast<float>(*number);
    else if (!is_missing(text))
      return refuse(fmt::format("{} is '{}', which is no number", plan_.columns[column_], shown(text)));
  } else if (!is_missing(text)) {
    if (use.kind == ColumnKind::category) {
      value = category(use, text);
    } else if (const auto date = read_date(text)) {
      value = static_cast<float>(*date);
    } else {
      return refuse(fmt::format("{} is '{}', which is no date", plan_.columns[column_], shown(text)));
    }
  }
  if (use.is_target && value != value && plan_.needs_target)
    return refuse(fmt::format("the target {} has no value", plan_.columns[column_]));
  out_->cells[out_->good * plan_.stride() + use.at] = value;
}

float BlockReader::category(const Use& use, std::string_view text) {
  CategoryNames::Numbers& known = known_[use.at];
  if (const auto found = known.find(text); found != known.end()) return static_cast<float>(found->second);
  const std::size_t number = plan_.names[use.at]->number(text);
  known.emplace(text, number);
  return static_cast<float>(number);
}

void BlockReader::refuse(const std::string& what) {
  if (problem_.empty()) problem_ = what;
}

void BlockReader::end_row() noexcept {
  if (column_ != uses_.size())
    problem_ = fmt::format("{} cells stand where the first line has {} columns", column_, uses_.size());
  bool fulfils = false;
  if (problem_.empty() && plan_.condition != nullptr) {
    std::size_t culprit = 0;
    const auto verdict = plan_.condition->check(compared_, culprit);
    fulfils = verdict == RowCondition::Verdict::yes;
    if (verdict == RowCondition::Verdict::not_comparable)
      refuse(fmt::format("{} is '{}', which data.test cannot compare",
                         plan_.columns[plan_.condition->needs()[culprit]], shown(compared_[culprit])));
  }
  if (problem_.empty()) {
    ++out_->good;
    out_->fulfils.push_back(fulfils ? 1 : 0);
    out_->cells.resize((out_->good + 1) * plan_.stride());
  } else {
    out_->problems.push_back({out_->all, std::move(problem_)});
    problem_.clear();
  }
  ++out_->all;
  column_ = 0;
}

}  // namespace veche
