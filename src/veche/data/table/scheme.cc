#include "veche/data/table/scheme.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "veche/data/table/cell.h"
#include "veche/errors.h"

namespace veche {
namespace {

// `whole` gets the sums of a column of site `site`.
void add_column(ColumnSums& whole, const ColumnSums& part, const std::string& first,
                const std::string& site) {
  if (part.kind != whole.kind)
    throw RequestError(fmt::format(
        "column '{}' holds {} in {} and {} in {}: give its kind with data.numbers, data.categories or "
        "data.dates",
        part.name, word_of(whole.kind), first, word_of(part.kind), site));
  whole.add(part);
}

TableScheme::Column column_of(const ColumnSums& sums) {
  TableScheme::Column column{.name = sums.name, .kind = sums.kind, .has_missing = sums.missing > 0};
  if (sums.kind == ColumnKind::category) {
    for (const auto& [name, rows] : sums.categories) column.categories.push_back(name);
    sort_categories(column.categories);
    return column;
  }
  column.mean = sums.mean;
  const double variance = sums.count == 0 ? 0 : sums.squares / static_cast<double>(sums.count);
  // A column whose values are all equal, up to rounding, stays at zero.
  const bool constant = variance <= 1e-14 * sums.mean * sums.mean || variance == 0;
  column.deviation = constant ? 1 : std::sqrt(variance);
  return column;
}

TableScheme::Target target_of(const ColumnSums& sums, Task task) {
  const TableScheme::Column column = column_of(sums);
  TableScheme::Target target{
      .name = sums.name, .kind = sums.kind, .task = task, .mean = column.mean, .deviation = column.deviation};
  target.classes = column.categories;
  for (const std::string& name : target.classes) target.counts.push_back(sums.categories.at(name));
  return target;
}

}  // namespace

const char* word_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::date:
      return "dates";
    case ColumnKind::category:
      return "categories";
    case ColumnKind::number:
      break;
  }
  return "numbers";
}

void ColumnSums::add(const ColumnSums& other) {
  missing += other.missing;
  for (const auto& [category, rows] : other.categories) categories[category] += rows;
  if (other.count == 0) return;
  const double mine = static_cast<double>(count), theirs = static_cast<double>(other.count);
  const double apart = other.mean - mean, all = mine + theirs;
  mean += apart * theirs / all;
  squares += other.squares + apart * apart * mine * theirs / all;
  count += other.count;
}

std::size_t TableScheme::Column::width() const {
  return (kind == ColumnKind::category ? categories.size() : 1) + (has_missing ? 1 : 0);
}

std::size_t TableScheme::width() const {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width();
  return width;
}

TableScheme agree(const std::vector<TableSums>& sites, const std::vector<std::string>& names) {
  TableSums all = sites.front();
  const std::string& first = names.front();
  for (std::size_t i = 1; i < sites.size(); ++i) {
    const TableSums& site = sites[i];
    if (site.target.name != all.target.name)
      throw RequestError(fmt::format("the target is '{}' in {} and '{}' in {}", all.target.name, first,
                                     site.target.name, names[i]));
    if (site.task != all.task)
      throw RequestError(fmt::format(
          "the target '{}' holds classes in one of {} and {} and numbers in the other: set data.task",
          all.target.name, first, names[i]));
    for (ColumnSums& column : all.columns) {
      const auto found = std::ranges::find(site.columns, column.name, &ColumnSums::name);
      if (found == site.columns.end())
        throw RequestError(fmt::format("{} has no column '{}', which {} has: leave it out with data.ignore",
                                       names[i], column.name, first));
      add_column(column, *found, first, names[i]);
    }
    for (const ColumnSums& column : site.columns)
      if (std::ranges::find(all.columns, column.name, &ColumnSums::name) == all.columns.end())
        throw RequestError(fmt::format("{} has no column '{}', which {} has: leave it out with data.ignore",
                                       first, column.name, names[i]));
    add_column(all.target, site.target, first, names[i]);
  }
  TableScheme scheme;
  for (const ColumnSums& column : all.columns) scheme.columns.push_back(column_of(column));
  scheme.target = target_of(all.target, all.task);
  return scheme;
}

void sort_categories(std::vector<std::string>& names) {
  const bool numbers =
      std::ranges::all_of(names, [](const auto& name) { return read_number(name).has_value(); });
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    if (!numbers) return a < b;
    const double x = *read_number(a), y = *read_number(b);
    return x != y ? x < y : a < b;
  });
}

}  // namespace veche
