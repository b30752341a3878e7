#include "cli/terminal/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/text/figures.h"

namespace veche::cli {

std::string with_commas(std::uint64_t number) { return figures::count(static_cast<double>(number)); }
std::string three(double value) { return figures::plain(figures::three(value)); }
std::string duration(double seconds) { return figures::plain(figures::duration(seconds)); }
std::string seconds(double value) { return figures::plain(figures::seconds(value)); }
std::string bytes(double count) { return figures::plain(figures::bytes(count)); }

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
