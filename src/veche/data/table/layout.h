#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/data/table/csv_file.h"
#include "veche/data/table/scheme.h"
#include "veche/settings.h"

namespace veche {

// Which columns of a file are read, and as what.
struct TableLayout {
  struct Column {
    std::string name;
    ColumnKind kind = ColumnKind::number;
    std::size_t place = 0;  // in the file
  };
  std::vector<Column> inputs;
  std::optional<Column> target;  // none: nothing is to be learned or compared
  Task task = Task::classification;
};

// From the keys of [data] and the first rows: a column holds numbers if at least 95 % of its values
// there are numbers, otherwise dates by the same rule, otherwise categories. A target of at most 20
// different whole numbers there is a class. Throws RequestError for keys that do not fit the file.
TableLayout find_layout(const CsvFile& file, std::string_view first_rows, const DataSettings& settings);
// The columns of a scheme, wherever they are in the file. Throws RequestError where one is missing;
// the target may be.
TableLayout layout_of(const CsvFile& file, const TableScheme& scheme);

}  // namespace veche
