#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veche/task.h"

namespace veche {

enum class ColumnKind : std::uint8_t { number, date, category };
const char* word_of(ColumnKind kind);

// What a site tells other sites about a column of its training rows: sums, and the names of
// categories with their counts.
struct ColumnSums {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::uint64_t missing = 0;
  std::uint64_t count = 0;  // of values
  double mean = 0;          // of numbers and dates
  double squares = 0;       // of numbers and dates: sum of squared distances from the mean
  std::map<std::string, std::uint64_t> categories = {};  // rows of each

  // Adds the sums of other rows of the same column.
  void add(const ColumnSums& other);
};

// The same about all columns of a site.
struct TableSums {
  std::vector<ColumnSums> columns;  // that are inputs of the model
  ColumnSums target;
  Task task = Task::classification;
};

// How rows become samples and targets: the same for all sites of a run, and part of the model.
struct TableScheme {
  struct Column {
    std::string name;
    ColumnKind kind = ColumnKind::number;
    bool has_missing = false;  // an input tells that the value is missing
    double mean = 0, deviation = 1;
    std::vector<std::string> categories = {};  // one input each

    std::size_t width() const;  // inputs of the model
    bool operator==(const Column&) const = default;
  };
  struct Target {
    std::string name;
    ColumnKind kind = ColumnKind::category;
    Task task = Task::classification;
    double mean = 0, deviation = 1;          // regression
    std::vector<std::string> classes = {};   // classification
    std::vector<std::uint64_t> counts = {};  // training rows of each class
    bool operator==(const Target&) const = default;
  };
  std::vector<Column> columns;
  Target target;

  std::size_t width() const;
  bool operator==(const TableScheme&) const = default;
};

// The scheme of sites with these sums, in the order of the first site's columns. `names` name the
// sites in messages. Throws RequestError where the sites have different columns, kinds or targets.
TableScheme agree(const std::vector<TableSums>& sites, const std::vector<std::string>& names);

// Numbers by value, other names in alphabetical order.
void sort_categories(std::vector<std::string>& names);

}  // namespace veche
