#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace veche {

// The text of one cell of a table, without surrounding spaces.

// Empty, or one of the words for "no value": NA, N/A, NaN, null, none, ?, in any case.
bool is_missing(std::string_view text);
// A finite decimal number; none: the text is no number.
std::optional<double> read_number(std::string_view text);
// Days since 1970-01-01 of 2024-03-31, 2024/03/31 or 31.03.2024, each also with a time: 2024-03-31
// 18:30, 2024-03-31T18:30:00.5Z. Times are taken as UTC. None: the text is no date.
std::optional<double> read_date(std::string_view text);
// The date of these days since 1970-01-01 as read_date reads it, to the second: 2024-03-31, or with
// a time 2024-03-31T18:30:00.
std::string date_text(double days);

// For a message: shortened, without control characters.
std::string shown(std::string_view text);

}  // namespace veche
