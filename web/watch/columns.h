#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace veche::web {

// Six digits are more than a screen shows. Missing values are null.
nlohmann::json shown(double value);

// At most `most` indices of [0, count), evenly spread, including the last.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most);

template <class Row, class Number>
nlohmann::json column(const std::vector<Row>& rows, const std::vector<std::size_t>& chosen,
                      Number Row::*number) {
  nlohmann::json values = nlohmann::json::array();
  for (const std::size_t i : chosen) values.push_back(shown(static_cast<double>(rows[i].*number)));
  return values;
}

}  // namespace veche::web
