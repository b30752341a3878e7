#include "cli/terminal/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace veche::cli {

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::lround(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bytes(double count) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; count >= 1000 && unit + 1 < kUnits.size(); ++unit) count /= 1000;
  return unit == 0 ? fmt::format("{:.0f} {}", count, kUnits[unit])
                   : fmt::format("{:.3g} {}", count, kUnits[unit]);
}

std::string epochs(double done, double all) {
  // Two decimals, or more if a whole run is less than a tenth of an epoch.
  const int digits =
      all > 0 && all < 0.1 ? std::min(8, 1 - static_cast<int>(std::floor(std::log10(all)))) : 2;
  std::string end = fmt::format("{:.{}f}", all, digits);
  end.erase(end.find_last_not_of('0') + 1);
  if (end.ends_with('.')) end.pop_back();
  return fmt::format("{:.{}f}/{}", done, digits, end);
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_)
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (column >= widths.size()) widths.push_back(0);
      widths[column] = std::max(widths[column], row[column].size());
    }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t column = 0; column < row.size(); ++column)
      text += column == 0 ? fmt::format("  {:<{}}", row[column], widths[column])
                          : fmt::format("  {:>{}}", row[column], widths[column]);
    text += "\n";
  }
  return text;
}

}  // namespace veche::cli
