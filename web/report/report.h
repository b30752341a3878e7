#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "web/report/chart.h"
#include "web/report/findings.h"
#include "web/report/records.h"
#include "web/report/table.h"

namespace veche::web {

// Draws the communication graph of a run as SVG; empty if it has none, or too many nodes.
using DrawGraph = std::function<std::string(const RunRecord&)>;

// The contents of a report, for all output formats. Tables for people (sheets.cc) have three
// significant digits, those for programs (files.cc) all of them.
Sheet overview(const Findings& findings);
Sheet every_run(const std::vector<RunGroup>& groups);
Sheet nodes_of(const RunRecord& run, std::size_t most_rows);
// Evenly thinned, including the last.
Sheet some_measurements(const RunRecord& run, std::size_t most_rows);
Sheet full_runs(const std::vector<RunGroup>& groups, const Findings& findings);
Sheet full_nodes(const RunRecord& run);
// Every measurement of a run: step, epoch, seconds, bytes, loss, accuracies, disagreement.
Sheet full_measurements(const RunRecord& run);

struct NamedChart {
  std::string file;  // "accuracy"
  Chart chart;
};
// One curve for each configuration: the mean of its seeds, with a band from the lowest to the
// highest of them.
std::vector<NamedChart> charts(const Findings& findings);

// "85 %", "perplexity 5.6": a goal in a sentence.
std::string goal_text(const Measure& measure, double goal);
// "88.3 ± 0.2 %", the deviation only of several seeds; "5.13".
std::string result_text(const Measure& measure, const std::optional<Spread>& result);

// One HTML file without outside scripts, fonts or images; it opens from disk and prints.
std::string report_page(const std::vector<RunGroup>& groups, const DrawGraph& draw_graph);

// Writes files for papers and other programs into folders, which are created if necessary:
// accuracy.svg .., table.tex and table.md; runs.csv, and files of nodes and measurements per run.
// Returns the files written.
std::vector<std::filesystem::path> write_figures(const std::vector<RunGroup>& groups,
                                                 const std::filesystem::path& folder);
std::vector<std::filesystem::path> write_csv(const std::vector<RunGroup>& groups,
                                             const std::filesystem::path& folder);

}  // namespace veche::web
