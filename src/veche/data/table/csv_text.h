#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace veche {

// The end of rows in CSV text, by the rules of libcsv, without cutting the rows into cells.

// Length of the whole rows at the beginning of `text`; 0: its first row does not end in it.
std::size_t length_of_rows(std::string_view text, char separator);
// For each row of `text`, the number of lines before it. Empty lines are no rows.
std::vector<std::uint64_t> lines_of_rows(std::string_view text, char separator);

}  // namespace veche
