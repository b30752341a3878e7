#include "veche/data/table/row_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "veche/data/sets/damage.h"
#include "veche/data/table/cell.h"

namespace veche {

RowEncoder::RowEncoder(const TableScheme& scheme) : scheme_(scheme) {
  std::size_t next = 0;
  for (const TableScheme::Column& column : scheme.columns) {
    Place place{.first = next, .missing = {}, .mean = column.mean, .scale = 1 / column.deviation};
    next += column.width();
    if (column.has_missing) place.missing = next - 1;
    places_.push_back(place);
  }
}

void RowEncoder::put_number(std::size_t column, float value, std::span<float> out) const {
  const Place& place = places_[column];
  const bool missing = std::isnan(value);
  out[place.first] =
      missing ? 0.0F : static_cast<float>((static_cast<double>(value) - place.mean) * place.scale);
  if (place.missing) out[*place.missing] = missing ? 1.0F : 0.0F;
}

void RowEncoder::put_category(std::size_t column, std::int32_t category, std::span<float> out) const {
  const Place& place = places_[column];
  std::ranges::fill(out.subspan(place.first, scheme_.columns[column].width()), 0.0F);
  if (category >= 0)
    out[place.first + static_cast<std::size_t>(category)] = 1.0F;
  else if (place.missing)
    out[*place.missing] = 1.0F;
}

void RowEncoder::encode(std::span<const std::string_view> texts, std::span<float> out) const {
  for (std::size_t i = 0; i < scheme_.columns.size(); ++i) {
    const TableScheme::Column& column = scheme_.columns[i];
    const std::string_view text = texts[i];
    const bool missing = is_missing(text);
    if (column.kind == ColumnKind::category) {
      const std::int32_t place = missing ? -1 : place_in(column.categories, text);
      if (place < 0 && !missing)
        throw Damaged(
            fmt::format("{} is '{}', a category that no training row has", column.name, shown(text)));
      put_category(i, place, out);
      continue;
    }
    const auto value = column.kind == ColumnKind::date ? read_date(text) : read_number(text);
    if (!value && !missing)
      throw Damaged(fmt::format("{} is '{}', which is no {}", column.name, shown(text),
                                column.kind == ColumnKind::date ? "date" : "number"));
    put_number(i, value ? static_cast<float>(*value) : std::numeric_limits<float>::quiet_NaN(), out);
  }
}

std::int32_t place_in(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<std::int32_t>(found - names.begin());
}

}  // namespace veche
