#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "veche/base/machine/machine.h"
#include "veche/base/text/figures.h"
#include "web/report/answer.h"
#include "web/report/report.h"
#include "web/report/results.h"

namespace veche::web {

extern const char kReportStyle[];       // the text of report.css
extern const char kReportScript[];      // of report.js
extern const char kReportScriptHash[];  // SHA-256 in hexadecimal

namespace {

constexpr std::size_t kMostNodeRows = 100;
constexpr std::size_t kMostMeasurements = 12;  // in the page; the CSV has all

// Quotes a word for a command line.
std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%,") ==
          std::string::npos)
    return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_to_repeat(const RunRecord& run) {
  const bool simulated = run.config.find("transport = \"simulated\"") != std::string::npos;
  return fmt::format("veche {} {} --set {}", simulated ? "simulate" : "train",
                     quoted((run.folder / "config.toml").string()),
                     quoted("run.name=" + run.name + "-again"));
}

std::string machine_of(const RunRecord& run) {
  if (!run.machine.is_object()) return "not noted by the Veche that ran it";
  const auto word = [&](const char* key) {
    const auto found = run.machine.find(key);
    return found == run.machine.end() ? std::string("?")
           : found->is_string()       ? found->get<std::string>()
                                      : found->dump();
  };
  return fmt::format("{}, {} cores, {}; Veche {}", word("processor"), word("cores"), word("instruction_set"),
                     word("veche"));
}

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

// The English words of a chart in both languages.
std::string translated(const std::string& words) {
  static const std::map<std::string, std::string, std::less<>> kRussian{
      {"steps", "шаги"},
      {"seconds of training", "секунды обучения"},
      {"virtual seconds of training", "виртуальные секунды обучения"},
      {"per cent of the test set", "% тестовых данных"},
      {"per cent of the model's length", "% длины модели"},
      {"cross entropy", "перекрёстная энтропия"},
      {"mean loss", "средние потери"},
      {"Loss while training", "Потери при обучении"},
      {"How far the nodes differ", "Расхождение узлов"},
      {"Accuracy over bytes", "Точность и байты"},
      {"Accuracy over time", "Точность и время"},
      {"Accuracy of the averaged model", "Точность усреднённой модели"},
      {"Perplexity over bytes", "Перплексия и байты"},
      {"Perplexity over time", "Перплексия и время"},
      {"Perplexity of the averaged model", "Перплексия усреднённой модели"},
      {"RMSE over bytes", "RMSE и байты"},
      {"RMSE over time", "RMSE и время"},
      {"RMSE of the averaged model", "RMSE усреднённой модели"},
      {"perplexity", "перплексия"},
      {"bytes sent by all nodes", "Б, отправлено всеми узлами"},
      {"kilobytes sent by all nodes", "кБ, отправлено всеми узлами"},
      {"megabytes sent by all nodes", "МБ, отправлено всеми узлами"},
      {"gigabytes sent by all nodes", "ГБ, отправлено всеми узлами"},
      {"terabytes sent by all nodes", "ТБ, отправлено всеми узлами"},
      {", logarithmic", ", логарифмически"}};
  const auto russian = [&](std::string_view one) {
    const auto found = kRussian.find(one);
    return found == kRussian.end() ? std::string(one) : found->second;
  };
  const std::size_t comma = std::min(words.find(','), words.size());
  return spoken(
      {words, russian(words.substr(0, comma)) + (comma < words.size() ? russian(words.substr(comma)) : "")});
}

std::string figure_of(const std::vector<NamedChart>& some) {
  std::string text;
  const Chart* most = nullptr;
  for (const NamedChart& named : some) {
    const std::string picture = to_svg(named.chart, Medium::page);
    if (picture.empty()) continue;
    if (most == nullptr || named.chart.curves.size() > most->curves.size()) most = &named.chart;
    text +=
        fmt::format("<div><h3>{} <small>{}</small></h3>{}<p>{}</p></div>\n", translated(named.chart.title),
                    translated(named.chart.y_name), picture, translated(named.chart.x_name));
  }
  if (text.empty()) return "";
  text = "<figure><div class=\"charts\">\n" + text + "</div>\n";
  if (most->curves.size() > 1) {
    text += "<ul class=\"lines\">";
    for (const Curve& curve : most->curves)
      text += "<li><span class=\"key\">" + line_sample(curve.color) + html(curve.name) + "</span></li>";
    text += "</ul>\n";
  }
  return text + "</figure>\n";
}

std::string folded(const Words& name, const Words& about, const std::string& content) {
  return "<details><summary>" + spoken(name) + " <small>" + spoken(about) + "</small></summary>\n" + content +
         "</details>\n";
}

// Each setting that differs, with the runs of each of its values.
std::string configuration_of(const std::vector<RunGroup>& groups, const Findings& findings) {
  if (groups.size() < 2) return "";
  Sheet sheet({{"setting", "параметр"}, {"value", "значение"}, {"runs", "запуски"}}, 3);
  std::string keys;
  for (const std::string& setting : findings.differing) {
    keys += (keys.empty() ? "" : ", ") + setting;
    std::vector<std::pair<std::string, std::string>> values;
    const std::size_t point = setting.find('.');
    for (const RunGroup& group : groups) {
      const std::string value =
          config_value(group.runs.front().config, setting.substr(0, point), setting.substr(point + 1));
      const auto found = std::ranges::find(values, value, &std::pair<std::string, std::string>::first);
      if (found == values.end())
        values.emplace_back(value, group.name);
      else
        found->second += ", " + group.name;
    }
    for (const auto& [value, names] : values)
      sheet.row({setting, value.empty() ? std::string(figures::kMissing) : value, names});
  }
  return folded({"Configuration", "Настройки"}, {"differing: " + keys, "различаются: " + keys},
                sheet.to_html({"Settings that differ", "Параметры, которые различаются"}));
}

// Each graph once, with the runs that have it.
std::string graphs_of(const std::vector<RunGroup>& groups, const DrawGraph& draw_graph) {
  std::vector<std::pair<std::string, const RunRecord*>> graphs;
  std::map<std::string, std::string> names;
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) {
      const std::string words = run.text("topology");
      if (words.empty()) continue;
      if (names[words].empty()) graphs.emplace_back(words, &run);
      names[words] += (names[words].empty() ? "" : ", ") + run.name;
    }
  std::string text, all;
  for (const auto& [words, run] : graphs)
    if (const std::string picture = draw_graph(*run); !picture.empty()) {
      text += fmt::format("<figure>{}<figcaption><b>{}</b>: {}</figcaption></figure>\n", picture, html(words),
                          html(names[words]));
      all += (all.empty() ? "" : "; ") + words;
    }
  if (text.empty()) return "";
  return folded({"Graphs", "Графы"}, all, "<div class=\"graphs\">" + text + "</div>\n");
}

std::string section_of(const RunRecord& run) {
  std::string text;
  const auto fact = [&](const Words& name, const std::string& value) {
    text += "<dt>" + spoken(name) + "</dt><dd>" + value + "</dd>";
  };
  text += "<dl>";
  fact({"folder", "папка"}, html(run.folder.string()));
  fact({"machine", "машина"}, html(machine_of(run)));
  fact({"again", "повторить"}, "<code>" + html(command_to_repeat(run)) + "</code>");
  text += "</dl>\n";
  if (!run.ended)
    text += "<p><strong>" +
            spoken({"This run has not ended; its last measurement is shown.",
                    "Запуск не завершён; показано последнее измерение."}) +
            "</strong></p>\n";
  const Sheet nodes = nodes_of(run, kMostNodeRows);
  if (nodes.rows() > 0) text += nodes.to_html({"Nodes of " + run.name, "Узлы " + run.name});
  if (const auto all = run.summary.find("per_node"); all != run.summary.end() && all->size() > nodes.rows())
    text += "<p>" +
            spoken({fmt::format("The first {} of {} nodes; all are in the CSV.", nodes.rows(), all->size()),
                    fmt::format("Первые {} узлов из {}; все — в CSV.", nodes.rows(), all->size())}) +
            "</p>\n";
  if (!run.metrics.empty()) {
    text += some_measurements(run, kMostMeasurements)
                .to_html({"Measurements of " + run.name, "Измерения " + run.name});
    if (run.metrics.size() > kMostMeasurements)
      text +=
          "<p>" +
          spoken({fmt::format("{} of {} measurements; all are in the CSV.", kMostMeasurements,
                              run.metrics.size()),
                  fmt::format("Измерений {} из {}; все — в CSV.", kMostMeasurements, run.metrics.size())}) +
          "</p>\n";
  }
  // The first and the last text show what the model has learnt.
  for (std::size_t i = 0; i < run.samples.size(); i += std::max<std::size_t>(1, run.samples.size() - 1)) {
    const Json& sample = run.samples[i];
    const int step = sample.value("step", 0);
    text += "<h3>" +
            spoken({fmt::format("What the averaged model wrote at step {}", step),
                    fmt::format("Что усреднённая модель написала на шаге {}", step)}) +
            "</h3>\n<pre class=\"sample\">" + html(sample.value("text", "")) + "</pre>\n";
  }
  text += "<h3>" + spoken({"Configuration", "Настройки"}) + "</h3>\n<pre>" + html(run.config) + "</pre>\n";
  return folded(run.name,
                {run.text("strategy") + (run.ended ? "" : ", not ended"),
                 run.text("strategy") + (run.ended ? "" : ", не завершён")},
                text);
}

std::string how_measured(const Findings& findings) {
  const Words goal =
      !findings.goal
          ? Words("", "")
          : Words(
                "A run reaches the goal at its first measurement whose averaged model is as good; nothing is "
                "interpolated. Without a run.target that all runs share, the goal is the best that most "
                "configurations have reached, rounded.",
                "Цель достигнута при первом измерении, где усреднённая модель не хуже; ничего не "
                "интерполируется. "
                "Если у запусков нет общего run.target, цель — лучшее, чего достигло большинство, "
                "округлённое.");
  return folded(
      {"How it was measured", "Как измерено"}, {"goal, seeds, clocks, bytes", "цель, повторы, часы, байты"},
      "<p>" + spoken(goal) + "</p><p>" +
          spoken({"± is the standard deviation over seeds where there are several; of the nodes of one run "
                  "it is over "
                  "its nodes. Both divide by the count. A band reaches from the lowest to the highest seed.",
                  "± — стандартное отклонение по повторам, если их несколько; у узлов одного запуска — по "
                  "узлам. Делится "
                  "на количество. Полоса — от худшего до лучшего повтора."}) +
          "</p><p>" +
          spoken({"Seconds are of training, without tests and saving. Bytes are counted where they are sent, "
                  "after the "
                  "codec, by all nodes: what a lost node has sent stays in the sum. Disagreement is the "
                  "coefficient of "
                  "variation of the parameters.",
                  "Секунды — обучения, без проверок и сохранения. Байты считаются у отправителя, после "
                  "сжатия, по всем "
                  "узлам: отправленное потерянным узлом остаётся в сумме. Расхождение — коэффициент вариации "
                  "параметров."}) +
          "</p>\n");
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
  text += "<h2>" + spoken({"Details", "Подробности"}) + "</h2>\n" + configuration_of(groups, findings);
  text += folded({"Every run", "Каждый запуск"},
                 {"its nodes, its averaged model, how it ended", "узлы, усреднённая модель, чем закончился"},
                 every_run(groups).to_html({"Runs", "Запуски"}));
  if (const std::string figure = figure_of(further); !figure.empty())
    text += folded({"Curves over steps", "Кривые по шагам"},
                   {"quality, loss, disagreement", "качество, потери, расхождение"}, figure);
  text += graphs_of(groups, draw_graph);
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) text += section_of(run);
  text += how_measured(findings);
  text += "<footer class=\"foot\"><span>Veche " + html(version()) + "</span><span>" +
          spoken({"veche report --csv and --figures write files for programs and papers",
                  "veche report --csv и --figures пишут файлы для программ и статей"}) +
          "</span></footer>\n";
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace veche::web
