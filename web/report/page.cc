#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "veche/base/machine/machine.h"
#include "veche/base/text/figures.h"
#include "web/report/answer.h"
#include "web/report/details.h"
#include "web/report/figure.h"
#include "web/report/report.h"
#include "web/report/results.h"

namespace veche::web {

extern const char kReportStyle[];       // the text of report.css
extern const char kReportScript[];      // of report.js
extern const char kReportScriptHash[];  // SHA-256 in hexadecimal

namespace {

// The script runs because the page names its hash, and no other does.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0, held = 0;
  const auto add = [&](unsigned value, unsigned count) {
    bits = bits << count | value;
    for (held += count; held >= 6; held -= 6) text += kLetters[bits >> (held - 6) & 63U];
  };
  for (const char digit : hex) add(static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10), 4);
  if (held > 0) add(0, 6 - held);
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string head_of(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>Veche: "
      "{}</title>\n<style>\n{}</style>\n<script>{}</script>\n"
      "</head>\n",
      base64_of_hex(kReportScriptHash), html(title), kReportStyle, kReportScript);
}

// A value that all runs have in common; empty if there is none.
std::string common(const std::vector<RunGroup>& groups,
                   const std::function<std::string(const RunRecord&)>& value) {
  const std::string first = value(groups.front().runs.front());
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs)
      if (value(run) != first) return "";
  return first;
}

std::string whole(const RunRecord& run, const char* key) {
  const auto value = number(run.summary, {key});
  return value ? figures::count(*value) : "";
}

std::string header_of(const std::vector<RunGroup>& groups) {
  std::string english, russian;
  const auto add = [&](const std::string& text, const std::string& other) {
    english += (english.empty() ? "" : ", ") + text;
    russian += (russian.empty() ? "" : ", ") + other;
  };
  if (const auto data = common(groups, [](const RunRecord& run) { return run.text("data"); }); !data.empty())
    add(html(data), html(data));
  const auto model = common(groups, [](const RunRecord& run) { return run.text("model"); });
  const auto size = common(groups, [](const RunRecord& run) { return whole(run, "parameter_count"); });
  if (!model.empty() && !size.empty())
    add(fmt::format("{} with {} parameters", html(model), number_markup(size)),
        fmt::format("{}, параметров: {}", html(model), number_markup(size)));
  if (const auto nodes = common(groups, [](const RunRecord& run) { return whole(run, "nodes"); });
      !nodes.empty())
    add(fmt::format("{} node{}", number_markup(nodes), nodes == "1" ? "" : "s"),
        "узлов: " + number_markup(nodes));
  std::size_t runs = 0;
  for (const RunGroup& group : groups) runs += group.runs.size();
  const auto plural = [](std::size_t count, const char* word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
  };
  return "<header class=\"kick\"><p><span><b>" + spoken({"Veche report", "Отчёт Veche"}) + "</b> · " +
         spoken_markup({english, russian}) + "</span></p><p><span>" +
         spoken({plural(groups.size(), "configuration") + ", " + plural(runs, "run"),
                 fmt::format("конфигураций: {}, запусков: {}", groups.size(), runs)}) +
         "</span><button class=\"button\" id=\"language\" type=\"button\" hidden></button></p></header>\n";
}

std::string key_figures(const Answer& answer) {
  if (answer.figures.empty()) return "";
  std::string text;
  if (!answer.winner.empty())
    text +=
        "<p class=\"of\">" +
        spoken_markup({fmt::format("Key figures of <b>{}</b>, with {} to compare", html(answer.winner),
                                   html(answer.other)),
                       fmt::format("<b>{}</b>, для сравнения {}", html(answer.winner), html(answer.other))}) +
        "</p>\n";
  text += "<dl class=\"figures\">\n";
  for (const KeyFigure& figure : answer.figures) {
    const std::size_t deviation = std::min(figure.value.find(" ±"), figure.value.size());
    text += fmt::format("<div><dt>{}</dt><dd>{}", spoken(figure.name),
                        number_markup(figure.value.substr(0, deviation)));
    if (deviation < figure.value.size())
      text += "<small>" + number_markup(figure.value.substr(deviation)) + "</small>";
    text += "</dd>";
    if (!figure.beside.english.empty())
      text += "<dd class=\"beside\">" + spoken_markup(figure.beside) + "</dd>";
    text += "</div>\n";
  }
  return text + "</dl>\n";
}

}  // namespace

std::string report_page(const std::vector<RunGroup>& groups, const DrawGraph& draw_graph) {
  const Findings findings = findings_of(groups);
  const Answer answer = answer_of(findings);
  std::string names;
  bool seeds = false;
  for (const RunGroup& group : groups) {
    names += (names.empty() ? "" : ", ") + group.name;
    seeds = seeds || group.runs.size() > 1;
  }
  std::string text = head_of(names) + "<body>\n<main class=\"page\">\n" + header_of(groups);
  text += "<h1>" + spoken_markup(answer.title) + "</h1>\n";
  if (!answer.lead.english.empty()) text += "<p class=\"lead\">" + spoken_markup(answer.lead) + "</p>\n";
  text += key_figures(answer);
  text += "<h2>" + spoken({"Results", "Результаты"}) + " <small>" +
          spoken(seeds ? Words("mean ± standard deviation over the seeds; best in bold",
                               "среднее ± стандартное отклонение по повторам; лучшее выделено")
                       : Words("best in bold", "лучшее выделено")) +
          "</small></h2>\n" + results_table(findings);
  text +=
      "<p class=\"note\">" +
      spoken({"Measures are those of the averaged model, bytes those sent by all nodes. The files of --csv "
              "have full "
              "digits.",
              "Меры — усреднённой модели, байты — отправленные всеми узлами. Все цифры — в файлах --csv."}) +
      "</p>\n";
  std::vector<NamedChart> prices, further;
  for (NamedChart& named : charts(findings))
    (named.file.ends_with("-bytes") || named.file.ends_with("-seconds") ? prices : further)
        .push_back(std::move(named));
  std::ranges::sort(prices, {}, &NamedChart::file);  // bytes before seconds
  if (const std::string figure = figure_of(prices); !figure.empty())
    text +=
        "<h2>" + spoken({"Quality against its price", "Качество и его цена"}) + " <small>" +
        (findings.goal ? spoken({"ring: " + goal_text(findings.measure(), *findings.goal) + " reached",
                                 "кольцо: " + goal_text(findings.measure(), *findings.goal) + " достигнуто"})
                       : "") +
        "</small></h2>\n" + figure;
  text += details_of(groups, findings, further, draw_graph);
  text += "<footer class=\"foot\"><span>Veche " + html(version()) + "</span><span>" +
          spoken({"veche report --csv and --figures write files for programs and papers",
                  "veche report --csv и --figures пишут файлы для программ и статей"}) +
          "</span></footer>\n";
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace veche::web