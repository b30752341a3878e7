#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/data/sets/open.h"
#include "veche/data/table/scheme.h"

namespace veche {

// Whether the name of a file is that of a table: .csv or .tsv, perhaps with .gz or .zst.
bool is_table_name(const std::filesystem::path& path);

// Opens a table. Its scheme follows from its own training rows unless `how.scheme` gives one.
// Throws RequestError naming file and line.
DataSource open_table(const OpenRequest& request, const DataSettings& settings, std::uint64_t seed,
                      const OpenOptions& how);

// What a site tells the others about the training rows of its table; none: the source is no table.
std::optional<TableSums> sums_of(const DataSource& source);
// Gives the source another scheme, which the sites of a run have agreed on. Throws RequestError
// where the table does not fit it.
void set_scheme(DataSource& source, std::shared_ptr<const TableScheme> scheme, const DataSettings& settings);

}  // namespace veche
