#include "web/report/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "veche/base/text/figures.h"
#include "web/report/report.h"

namespace veche::web {
namespace {

constexpr std::size_t kMostSettings = 4;  // below a name; the folded configuration has all

// A column of numbers.
struct Column {
  Words name;
  std::optional<Spread> Finding::*value;
  std::function<std::string(const Finding&, const Spread&)> text;
  bool up = false;       // whether more is better
  bool aside = false;    // not on a phone
  bool to_goal = false;  // empty where the goal is not reached
  std::optional<double> best = {};
};

std::vector<Column> columns_of(const Findings& findings) {
  const Measure& measure = findings.measure();
  const auto bytes = [](const Finding&, const Spread& value) { return figures::bytes(value.mean); };
  const auto seconds = [all = findings.virtual_time()](const Finding& one, const Spread& value) {
    return figures::seconds(value.mean) + (one.virtual_time && !all ? " virtual" : "");
  };
  const auto result = [](const Finding& one, const Spread& value) {
    return result_text(main_measure(one.first().task()), value);
  };
  const Words title = capitalised(title_of(measure));
  const Words speed = capitalised(things_per_second(findings.tasks.front()));
  const bool is_virtual = findings.virtual_time();
  std::vector<Column> columns;
  if (findings.goal) {
    const std::string to = goal_text(measure, *findings.goal);
    columns.push_back(
        {{"Bytes to " + to, "Байты до " + to}, &Finding::bytes_to_goal, bytes, false, false, true});
    columns.push_back({{(is_virtual ? "Virtual seconds to " : "Seconds to ") + to,
                        (is_virtual ? "Виртуальные секунды до " : "Секунды до ") + to},
                       &Finding::seconds_to_goal,
                       seconds,
                       false,
                       false,
                       true});
  } else {
    columns.push_back({{"Sent", "Отправлено"}, &Finding::bytes, bytes});
    columns.push_back(
        {is_virtual ? Words("Virtual seconds", "Виртуальные секунды") : Words("Seconds", "Секунды"),
         &Finding::seconds, seconds});
  }
  if (findings.tasks.size() == 1)
    columns.push_back({{title.english + " at the end",
                        (title.russian.empty() ? title.english : title.russian) + " в конце"},
                       &Finding::result,
                       result,
                       measure.up});
  else
    columns.push_back({{"Measure at the end", "Мера в конце"},
                       &Finding::result,
                       [&, result](const Finding& one, const Spread& value) {
                         return std::string(main_measure(one.first().task()).title) + " " +
                                result(one, value);
                       }});
  columns.push_back({{"Disagreement", "Расхождение"},
                     &Finding::disagreement,
                     [](const Finding&, const Spread& value) { return figures::fine_percent(value.mean); },
                     false,
                     true});
  columns.push_back({speed, &Finding::speed,
                     [](const Finding&, const Spread& value) { return figures::three(value.mean); }, true,
                     true});
  const bool compared = findings.all.size() > 1 && findings.tasks.size() == 1;
  for (Column& column : columns)
    for (const Finding& one : findings.all)
      if (const auto& value = one.*column.value; compared && value)
        if (!column.best || (column.up ? value->mean > *column.best : value->mean < *column.best))
          column.best = value->mean;
  return columns;
}

std::string name_cell(const Finding& one) {
  const std::string graph = one.graph.empty() ? "" : ", " + one.graph;
  std::string text = fmt::format("<th scope=\"row\" class=\"word\"><span class=\"key\">{}{}</span>",
                                 line_sample(one.color), html(one.name()));
  text += fmt::format("<span class=\"below narrow\">{}</span>",
                      html(one.strategy + graph + (one.codec == "none" ? "" : ", " + one.codec)));
  if (!one.others.empty()) {
    std::string settings;
    for (std::size_t i = 0; i < std::min(one.others.size(), kMostSettings); ++i)
      settings += fmt::format("{}{} {}", i == 0 ? "" : ", ", one.others[i].first,
                              one.others[i].second.empty() ? figures::kMissing : one.others[i].second);
    if (one.others.size() > kMostSettings) settings += ", …";
    text += "<span class=\"below\">" + html(settings) + "</span>";
  }
  return text + "</th>";
}

}  // namespace

std::string results_table(const Findings& findings) {
  const std::vector<Column> columns = columns_of(findings);
  std::string text =
      "<table>\n<caption class=\"unseen\">" + spoken({"Results", "Результаты"}) + "</caption>\n<thead><tr>";
  const auto head = [&](const Words& words, const char* kind) {
    text += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", kind, spoken(words));
  };
  head({"Run", "Запуск"}, "word");
  head({"Strategy", "Стратегия"}, "word aside");
  head({"Graph", "Граф"}, "word aside");
  head({"Codec", "Сжатие"}, "word aside");
  for (const Column& column : columns) head(column.name, column.aside ? "aside" : "");
  text += "</tr></thead>\n<tbody>\n";
  const bool compared = findings.all.size() > 1 && findings.tasks.size() == 1;
  for (const Finding& one : findings.all) {
    text += compared && &one == &findings.all.front() ? "<tr class=\"win\">" : "<tr>";
    text += name_cell(one);
    for (const std::string& word : {one.strategy, one.graph, one.codec})
      text += "<td class=\"word aside\">" + (word.empty() ? std::string(figures::kMissing) : html(word)) +
              "</td>";
    for (const Column& column : columns) {
      const auto& value = one.*column.value;
      const std::string kind = std::string(column.aside ? "aside" : "") +
                               (column.best && value && value->mean == *column.best ? " best" : "");
      text += kind.empty() ? "<td>" : "<td class=\"" + kind + "\">";
      text += value            ? number_markup(column.text(one, *value))
              : column.to_goal ? spoken({"not reached", "не достигнуто"})
                               : std::string(figures::kMissing);
      text += "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n";
}

}  // namespace veche::web
