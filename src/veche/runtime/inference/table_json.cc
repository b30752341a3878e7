#include "veche/runtime/inference/table_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::size_t kMostColumns = 1 << 20;

ColumnKind kind_of_word(const std::string& word) {
  for (const ColumnKind kind : {ColumnKind::number, ColumnKind::date, ColumnKind::category})
    if (word == word_of(kind)) return kind;
  throw RequestError("a column of its table is of an unknown kind");
}

Task task_of_word(const std::string& word) {
  if (word != "classification" && word != "regression") throw RequestError("its task is unknown");
  return word == "regression" ? Task::regression : Task::classification;
}

const char* task_word(Task task) { return task == Task::regression ? "regression" : "classification"; }

void check_scale(double mean, double deviation) {
  if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation <= 0)
    throw RequestError("a column of its table has an invalid scale");
}

nlohmann::json column_sums_json(const ColumnSums& sums) {
  nlohmann::json json{{"name", sums.name}, {"kind", word_of(sums.kind)}, {"missing", sums.missing}};
  if (sums.kind == ColumnKind::category) {
    json["categories"] = sums.categories;
    return json;
  }
  json.update({{"count", sums.count}, {"mean", sums.mean}, {"squares", sums.squares}});
  return json;
}

ColumnSums column_sums_of(const nlohmann::json& json) {
  ColumnSums sums{
      .name = json.at("name"), .kind = kind_of_word(json.at("kind")), .missing = json.at("missing")};
  if (sums.kind == ColumnKind::category) {
    sums.categories = json.at("categories").get<std::map<std::string, std::uint64_t>>();
    return sums;
  }
  sums.count = json.at("count");
  sums.mean = json.at("mean");
  sums.squares = json.at("squares");
  if (!std::isfinite(sums.mean) || !std::isfinite(sums.squares) || sums.squares < 0)
    throw RequestError("the sums of column '" + sums.name + "' are no numbers");
  return sums;
}

}  // namespace

nlohmann::json scheme_json(const TableScheme& scheme) {
  nlohmann::json columns = nlohmann::json::array();
  for (const TableScheme::Column& column : scheme.columns) {
    nlohmann::json json{
        {"name", column.name}, {"kind", word_of(column.kind)}, {"has_missing", column.has_missing}};
    if (column.kind == ColumnKind::category)
      json["categories"] = column.categories;
    else
      json.update({{"mean", column.mean}, {"deviation", column.deviation}});
    columns.push_back(std::move(json));
  }
  const TableScheme::Target& target = scheme.target;
  nlohmann::json of_target{
      {"name", target.name}, {"kind", word_of(target.kind)}, {"task", task_word(target.task)}};
  if (target.task == Task::regression)
    of_target.update({{"mean", target.mean}, {"deviation", target.deviation}});
  else
    of_target.update({{"classes", target.classes}, {"counts", target.counts}});
  return {{"columns", std::move(columns)}, {"target", std::move(of_target)}};
}

TableScheme scheme_of_json(const nlohmann::json& json) {
  TableScheme scheme;
  if (json.at("columns").size() > kMostColumns) throw RequestError("its table has too many columns");
  for (const nlohmann::json& each : json.at("columns")) {
    TableScheme::Column column{.name = each.at("name"),
                               .kind = kind_of_word(each.at("kind")),
                               .has_missing = each.at("has_missing")};
    if (column.kind == ColumnKind::category) {
      column.categories = each.at("categories").get<std::vector<std::string>>();
    } else {
      column.mean = each.at("mean");
      column.deviation = each.at("deviation");
      check_scale(column.mean, column.deviation);
    }
    scheme.columns.push_back(std::move(column));
  }
  const nlohmann::json& of_target = json.at("target");
  TableScheme::Target& target = scheme.target;
  target.name = of_target.at("name");
  target.kind = kind_of_word(of_target.at("kind"));
  target.task = task_of_word(of_target.at("task"));
  if (target.task == Task::regression) {
    target.mean = of_target.at("mean");
    target.deviation = of_target.at("deviation");
    check_scale(target.mean, target.deviation);
  } else {
    target.classes = of_target.at("classes").get<std::vector<std::string>>();
    target.counts = of_target.at("counts").get<std::vector<std::uint64_t>>();
    if (target.classes.size() != target.counts.size())
      throw RequestError("its classes and their counts differ in number");
  }
  return scheme;
}

nlohmann::json sums_json(const TableSums& sums) {
  nlohmann::json columns = nlohmann::json::array();
  for (const ColumnSums& column : sums.columns) columns.push_back(column_sums_json(column));
  return {{"columns", std::move(columns)},
          {"target", column_sums_json(sums.target)},
          {"task", task_word(sums.task)}};
}

TableSums sums_of_json(const nlohmann::json& json) {
  TableSums sums;
  for (const nlohmann::json& column : json.at("columns")) sums.columns.push_back(column_sums_of(column));
  sums.target = column_sums_of(json.at("target"));
  sums.task = task_of_word(json.at("task"));
  return sums;
}

}  // namespace veche
