#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "veche/measures.h"

namespace veche::web {

// A text of the report in its two languages. Names and codes have no Russian of their own.
struct Words {
  std::string english, russian;
  Words() = default;
  Words(std::string text) : english(std::move(text)) {}
  Words(const char* text) : english(text) {}
  Words(std::string text, std::string other) : english(std::move(text)), russian(std::move(other)) {}
};

// As HTML: both, of which the page shows that of its language.
std::string spoken(const Words& words);          // plain words, which are escaped
std::string spoken_markup(const Words& markup);  // words that are HTML already
// A number, which the page writes as its language does: 0.5 as 0,5.
std::string number_markup(const std::string& figure);

// "accuracy", as people call a measure.
Words title_of(const Measure& measure);
Words things_per_second(Task task);
// The first letter in upper case; also a Cyrillic one.
Words capitalised(const Words& words);

}  // namespace veche::web
