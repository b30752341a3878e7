#include "web/report/details.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "veche/base/text/figures.h"
#include "web/report/figure.h"

namespace veche::web {
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

std::string details_of(const std::vector<RunGroup>& groups, const Findings& findings,
                       const std::vector<NamedChart>& further, const DrawGraph& draw_graph) {
  std::string text =
      "<h2>" + spoken({"Details", "Подробности"}) + "</h2>\n" + configuration_of(groups, findings);
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
  return text;
}

}  // namespace veche::web
