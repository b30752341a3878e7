#include <fmt/format.h>

#include <fstream>
#include <set>

#include "veche/base/files/files.h"
#include "veche/base/machine/machine.h"
#include "veche/errors.h"
#include "web/report/report.h"

namespace veche::web {

extern const char kReportStyle[];  // the text of report.css

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNodeRows = 100;
constexpr std::size_t kMostMeasurements = 60;  // in the page; the CSV has all

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

// Evenly thinned measurements, including the last.
Sheet some_measurements(const RunRecord& run) {
  RunRecord thinned{run.name, {}, {}, {}, run.ended, {}, {}};
  const std::size_t count = run.metrics.size(), shown = std::min(count, kMostMeasurements);
  for (std::size_t i = 1; i <= shown; ++i) thinned.metrics.push_back(run.metrics[i * count / shown - 1]);
  return measurements(thinned);
}

std::string section_of(const RunRecord& run, const DrawGraph& draw_graph) {
  std::string text = fmt::format("<section>\n<h2>{}</h2>\n", html(run.name));
  text += fmt::format(
      "<dl><dt>folder</dt><dd>{}</dd><dt>machine</dt><dd>{}</dd><dt>again</dt><dd><code>{}</code></dd></"
      "dl>\n",
      html(run.folder.string()), html(machine_of(run)), html(command_to_repeat(run)));
  if (!run.ended) text += "<p><strong>This run has not ended; its last measurement is shown.</strong></p>\n";
  if (const std::string picture = draw_graph(run); !picture.empty())
    text += "<figure class=\"graph\">" + picture + "</figure>\n";
  const Sheet nodes = nodes_of(run, kMostNodeRows);
  if (nodes.rows() > 0) text += nodes.to_html(fmt::format("Nodes of {}", run.name));
  if (const auto all = run.summary.find("per_node"); all != run.summary.end() && all->size() > nodes.rows())
    text += fmt::format("<p>The first {} of {} nodes; all are in the CSV.</p>\n", nodes.rows(), all->size());
  if (!run.metrics.empty()) {
    text += some_measurements(run).to_html(fmt::format("Measurements of {}", run.name));
    if (run.metrics.size() > kMostMeasurements)
      text += fmt::format("<p>{} of {} measurements; all are in the CSV.</p>\n", kMostMeasurements,
                          run.metrics.size());
  }
  // The first and the last text show what the model has learnt.
  for (std::size_t i = 0; i < run.samples.size(); i += std::max<std::size_t>(1, run.samples.size() - 1)) {
    const Json& sample = run.samples[i];
    text += fmt::format("<h3>What the averaged model wrote at step {}</h3>\n<pre class=\"sample\">{}</pre>\n",
                        sample.value("step", 0), html(sample.value("text", "")));
  }
  return text + "<details><summary>The configuration</summary><pre>" + html(run.config) +
         "</pre></details>\n</section>\n";
}

// A run's name as part of a file name.
std::string file_name(const std::string& name, std::set<std::string>& taken) {
  std::string made;
  for (const char c : name)
    made += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '-';
  if (made.empty() || made.front() == '.') made = "run" + made;
  std::string tried = made;
  for (int i = 2; !taken.insert(tried).second; ++i) tried = fmt::format("{}-{}", made, i);
  return tried;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw RequestError(fmt::format("the folder '{}' cannot be made: {}", folder.string(), error.message()));
}

}  // namespace

std::string report_page(const std::vector<RunGroup>& groups, const DrawGraph& draw_graph) {
  std::string names;
  std::size_t runs = 0;
  for (const RunGroup& group : groups) {
    names += (names.empty() ? "" : ", ") + group.name;
    runs += group.runs.size();
  }
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>Veche: "
      "{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
      html(names), kReportStyle, html(names));
  text += fmt::format("<p>{} run{} of Veche, reported by version {}.</p>\n", runs, runs == 1 ? "" : "s",
                      html(version()));
  text += overview(groups).to_html("Results");
  text +=
      "<p>± is the standard deviation over seeds where there are several, of the one run's nodes otherwise; "
      "both divide by the count. Disagreement is the coefficient of variation of the parameters.</p>\n";
  text += "<div class=\"charts\">\n";
  for (const NamedChart& named : charts(groups))
    if (const std::string picture = to_svg(named.chart); !picture.empty())
      text += "<figure>" + picture + "</figure>\n";
  text += "</div>\n";
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) text += section_of(run, draw_graph);
  return text + "</main>\n</body>\n</html>\n";
}

std::vector<fs::path> write_figures(const std::vector<RunGroup>& groups, const fs::path& folder) {
  make_folder(folder);
  std::vector<fs::path> written;
  const auto write = [&](const std::string& name, const std::string& text) {
    if (text.empty()) return;
    write_file(folder / name, text);
    written.push_back(folder / name);
  };
  for (const NamedChart& named : charts(groups)) write(named.file + ".svg", to_svg(named.chart));
  const Sheet table = overview(groups);
  write("table.tex", table.to_latex("Results of Veche"));
  write("table.md", table.to_markdown());
  return written;
}

std::vector<fs::path> write_csv(const std::vector<RunGroup>& groups, const fs::path& folder) {
  make_folder(folder);
  std::vector<fs::path> written;
  std::set<std::string> taken;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(folder / name, text);
    written.push_back(folder / name);
  };
  write("runs.csv", overview(groups).to_csv());
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) {
      const std::string name = file_name(run.name, taken);
      write(name + "-nodes.csv", nodes_of(run, std::size_t(-1)).to_csv());
      write(name + "-measurements.csv", measurements(run).to_csv());
    }
  return written;
}

}  // namespace veche::web
