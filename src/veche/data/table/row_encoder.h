#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/data/table/scheme.h"

namespace veche {

// Turns rows into a model's inputs by a scheme: numbers and dates less their mean over their
// deviation, one input for each category (1 for the row's, 0 for the others), and where the
// training rows lack values one input that is 1 for a missing value. Other inputs of a missing
// value are 0. The scheme outlives the encoder.
class RowEncoder {
 public:
  explicit RowEncoder(const TableScheme& scheme);

  const TableScheme& scheme() const { return scheme_; }

  // From the text of the scheme's columns, in its order. Throws Damaged with a sentence that begins
  // with the column.
  void encode(std::span<const std::string_view> texts, std::span<float> out) const;

  // One column. `value`: of a number or a date; NaN: missing.
  void put_number(std::size_t column, float value, std::span<float> out) const;
  // `category`: of the scheme's; negative: missing.
  void put_category(std::size_t column, std::int32_t category, std::span<float> out) const;

 private:
  struct Place {
    std::size_t first = 0;               // of the column's inputs
    std::optional<std::size_t> missing;  // the input that tells
    double mean = 0, scale = 1;
  };
  const TableScheme& scheme_;
  std::vector<Place> places_;
};

// The place of a name; negative: it is not among them.
std::int32_t place_in(const std::vector<std::string>& names, std::string_view name);

}  // namespace veche
