#include "cli/data/inspect_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/data/table/table.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

using ColumnJson = nlohmann::ordered_json;
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

constexpr std::size_t kCategoriesShown = 4;

struct Range {
  float least = std::numeric_limits<float>::infinity(), most = -least;
};

std::vector<Range> ranges_of(const veche::Table& table) {
  std::vector<Range> ranges(table.inputs().size());
  for (std::size_t row = 0; row < table.size(); ++row)
    for (std::size_t i = 0; i < ranges.size(); ++i) {  // comparisons with NaN, a missing value, are false
      const float cell = table.row(row)[i];
      if (cell < ranges[i].least) ranges[i].least = cell;
      if (cell > ranges[i].most) ranges[i].most = cell;
    }
  return ranges;
}

double deviation_of(const ColumnSums& sums) {
  return sums.count == 0 ? 0 : std::sqrt(sums.squares / static_cast<double>(sums.count));
}

Counts by_count(const ColumnSums& sums) {
  Counts counts(sums.categories.begin(), sums.categories.end());
  std::ranges::stable_sort(counts, std::greater<>(), &Counts::value_type::second);
  return counts;
}

std::string describe(const ColumnSums& sums, const Range& range) {
  if (sums.kind != ColumnKind::category) {
    if (sums.count == 0) return "no values";
    return fmt::format("{:g} to {:g}, mean {:g}, deviation {:g}{}", range.least, range.most, sums.mean,
                       deviation_of(sums), sums.kind == ColumnKind::date ? " (days since 1970)" : "");
  }
  const Counts counts = by_count(sums);
  std::string text = fmt::format("{}: ", counts.size());
  for (std::size_t i = 0; i < std::min(counts.size(), kCategoriesShown); ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", one_line(counts[i].first),
                        with_commas(counts[i].second));
  return text + (counts.size() > kCategoriesShown ? ", .." : "");
}

ColumnJson to_json(const ColumnSums& sums, const Range& range) {
  ColumnJson json{{"name", sums.name}, {"kind", word_of(sums.kind)}, {"missing", sums.missing}};
  if (sums.kind == ColumnKind::category) {
    json["categories"] = ColumnJson::object();
    for (const auto& [name, rows] : by_count(sums)) json["categories"][name] = rows;
  } else if (sums.count > 0) {
    json.update({{"least", range.least},
                 {"most", range.most},
                 {"mean", sums.mean},
                 {"deviation", deviation_of(sums)}});
  }
  return json;
}

}  // namespace

void inspect_table(const std::string& file, int threads, bool json) {
  const DamagePolicy policy{.on = OnDamage::skip};
  const veche::Table table(file, {}, nullptr, {}, policy, threads);
  const std::vector<Range> ranges = ranges_of(table);
  const std::vector<ColumnSums>& columns = table.sums().columns;
  if (json) {
    ColumnJson rows = ColumnJson::array();
    for (std::size_t i = 0; i < columns.size(); ++i) rows.push_back(to_json(columns[i], ranges[i]));
    answer_json(ColumnJson{{"kind", "a table"},
                           {"place", file},
                           {"rows", table.size()},
                           {"columns", rows},
                           {"damaged", policy.log->count()},
                           {"damage", policy.log->sentences()}});
  } else {
    answer("{}: a table of {} rows\n", file, with_commas(table.size()));
    Table shown({"column", "holds", "missing", ""});
    for (std::size_t i = 0; i < columns.size(); ++i)
      shown.row({one_line(columns[i].name), word_of(columns[i].kind), with_commas(columns[i].missing),
                 describe(columns[i], ranges[i])});
    answer("{}", shown.text());
    for (const std::string& sentence : policy.log->sentences()) answer("  {}\n", one_line(sentence));
  }
  if (policy.log->count() > 0)
    throw RunError(fmt::format("{} rows of '{}' are damaged", policy.log->count(), file));
}

}  // namespace veche::cli
