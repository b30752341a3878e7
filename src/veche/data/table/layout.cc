#include "veche/data/table/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "veche/base/text/nearest.h"
#include "veche/data/table/cell.h"
#include "veche/data/table/csv_rows.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::size_t kRowsSeen = 10'000;
constexpr std::size_t kMostWholeClasses = 20;
constexpr double kMostOfThem = 0.95;

// What the values of a column look like.
struct Look {
  std::size_t values = 0, numbers = 0, dates = 0;
  bool all_whole = true;
  std::set<std::string, std::less<>> different;  // some of them

  void add(std::string_view text) {
    if (is_missing(text)) return;
    ++values;
    if (different.size() <= kMostWholeClasses && !different.contains(text)) different.emplace(text);
    if (const auto number = read_number(text)) {
      ++numbers;
      all_whole = all_whole && *number == std::floor(*number);
    } else if (read_date(text)) {
      ++dates;
    }
  }
  ColumnKind kind() const {
    const auto most = [&](std::size_t count) {
      return static_cast<double>(count) >= kMostOfThem * static_cast<double>(values);
    };
    if (values == 0 || most(numbers)) return ColumnKind::number;
    return most(dates) ? ColumnKind::date : ColumnKind::category;
  }
};

struct Looks {
  void cell(std::string_view text) {
    if (rows < kRowsSeen && column < columns.size()) columns[column].add(text);
    ++column;
  }
  void end_row() {
    column = 0;
    ++rows;
  }
  std::vector<Look> columns;
  std::size_t column = 0, rows = 0;
};

std::size_t place_of(const std::vector<std::string>& columns, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
}

void require_columns(const CsvFile& file, const char* key, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (place_of(file.columns(), name) == file.columns().size())
      throw RequestError(fmt::format("data.{}: '{}' has no column '{}'{}", key, file.path().string(), name,
                                     suggestion(name, file.columns())));
}

// A column that is to be ignored may be absent: the sites of a run may have different ones.
void check_ignored(const CsvFile& file, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (place_of(file.columns(), name) == file.columns().size() && !nearest(name, file.columns()).empty())
      require_columns(file, "ignore", {name});
}

void check_keys(const CsvFile& file, const DataSettings& settings) {
  check_ignored(file, settings.ignore);
  require_columns(file, "categories", settings.categories);
  require_columns(file, "numbers", settings.numbers);
  require_columns(file, "dates", settings.dates);
  if (settings.target) require_columns(file, "target", {*settings.target});
  std::set<std::string> given;
  for (const auto* names : {&settings.categories, &settings.numbers, &settings.dates, &settings.ignore})
    for (const std::string& name : *names)
      if (!given.insert(name).second)
        throw RequestError(fmt::format(
            "column '{}' is named twice in data.ignore, data.categories, data.numbers and data.dates", name));
  if (settings.target && std::ranges::find(settings.ignore, *settings.target) != settings.ignore.end())
    throw RequestError(fmt::format("data.target = \"{}\" is in data.ignore too", *settings.target));
}

ColumnKind kind_of(const std::string& name, const Look& look, const DataSettings& settings) {
  const auto in = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (in(settings.categories)) return ColumnKind::category;
  if (in(settings.numbers)) return ColumnKind::number;
  if (in(settings.dates)) return ColumnKind::date;
  return look.kind();
}

void choose_target(TableLayout& layout, const CsvFile& file, const Look& look, const DataSettings& settings) {
  TableLayout::Column target{*settings.target, kind_of(*settings.target, look, settings),
                             place_of(file.columns(), *settings.target)};
  const bool whole_classes = target.kind == ColumnKind::number && look.all_whole &&
                             look.different.size() <= kMostWholeClasses &&
                             std::ranges::find(settings.numbers, target.name) == settings.numbers.end();
  layout.task =
      target.kind == ColumnKind::category || whole_classes ? Task::classification : Task::regression;
  layout.task = settings.task.value_or(layout.task);
  if (layout.task == Task::classification) target.kind = ColumnKind::category;
  if (layout.task == Task::regression && target.kind == ColumnKind::category)
    throw RequestError(
        fmt::format("data.task = \"regression\" needs a target of numbers, and '{}' holds '{}'", target.name,
                    shown(*look.different.begin())));
  layout.target = std::move(target);
}

}  // namespace

TableLayout find_layout(const CsvFile& file, std::string_view first_rows, const DataSettings& settings) {
  check_keys(file, settings);
  Looks looks;
  looks.columns.resize(file.columns().size());
  CsvRows(file.separator()).parse(first_rows, looks);
  TableLayout layout;
  for (std::size_t i = 0; i < file.columns().size(); ++i) {
    const std::string& name = file.columns()[i];
    if (settings.target == name) {
      choose_target(layout, file, looks.columns[i], settings);
    } else if (std::ranges::find(settings.ignore, name) == settings.ignore.end()) {
      layout.inputs.push_back({name, kind_of(name, looks.columns[i], settings), i});
    }
  }
  if (layout.inputs.empty())
    throw RequestError(fmt::format("'{}' has no column left as an input of the model", file.path().string()));
  return layout;
}

TableLayout layout_of(const CsvFile& file, const TableScheme& scheme) {
  TableLayout layout{.inputs = {}, .target = {}, .task = scheme.target.task};
  const auto& columns = file.columns();
  for (const TableScheme::Column& column : scheme.columns) {
    const std::size_t place = place_of(columns, column.name);
    if (place == columns.size())
      throw RequestError(fmt::format("'{}' has no column '{}', which the model needs{}", file.path().string(),
                                     column.name, suggestion(column.name, columns)));
    layout.inputs.push_back({column.name, column.kind, place});
  }
  if (const std::size_t place = place_of(columns, scheme.target.name); place < columns.size())
    layout.target = {scheme.target.name, scheme.target.kind, place};
  return layout;
}

}  // namespace veche
