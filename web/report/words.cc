#include "web/report/words.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

#include "web/report/table.h"

namespace veche::web {
namespace {

std::string upper_first(std::string text) {
  if (text.empty()) return text;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    text[0] = static_cast<char>(std::toupper(first));
  } else if (text.size() > 1) {  // а..п are D0 B0..BF, р..я are D1 80..8F; А..Я are D0 90..AF
    const auto second = static_cast<unsigned char>(text[1]);
    if (first == 0xd0 && second >= 0xb0) text[1] = static_cast<char>(second - 0x20);
    if (first == 0xd1 && second <= 0x8f) {
      text[0] = static_cast<char>(0xd0);
      text[1] = static_cast<char>(second + 0x20);
    }
  }
  return text;
}

}  // namespace

std::string spoken_markup(const Words& markup) {
  if (markup.russian.empty()) return markup.english;
  return fmt::format("<span lang=\"en\">{}</span><span lang=\"ru\">{}</span>", markup.english,
                     markup.russian);
}

std::string spoken(const Words& words) { return spoken_markup({html(words.english), html(words.russian)}); }

std::string number_markup(const std::string& figure) {
  return "<span class=\"n\">" + html(figure) + "</span>";
}

Words title_of(const Measure& measure) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRussian{
      {{"accuracy", "точность"}, {"perplexity", "перплексия"}, {"loss", "потери"}, {"rmse", "RMSE"}}};
  for (const auto& [name, russian] : kRussian)
    if (name == measure.name) return {std::string(measure.title), std::string(russian)};
  return std::string(measure.title);
}

Words things_per_second(Task task) {
  return task == Task::language ? Words("tokens per second", "токенов в секунду")
                                : Words("samples per second", "образцов в секунду");
}

Words capitalised(const Words& words) { return {upper_first(words.english), upper_first(words.russian)}; }

}  // namespace veche::web
