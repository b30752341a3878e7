#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "web/report/chart.h"
#include "web/report/records.h"
#include "web/report/table.h"

namespace veche::web {

// Draws the communication graph of a run as SVG; empty if it has none, or too many nodes.
using DrawGraph = std::function<std::string(const RunRecord&)>;

// The contents of a report about groups of runs, for all output formats.
Sheet overview(const std::vector<RunGroup>& groups);
Sheet nodes_of(const RunRecord& run, std::size_t most_rows);
// Every measurement of a run: step, epoch, seconds, bytes, loss, accuracies, disagreement.
Sheet measurements(const RunRecord& run);

struct NamedChart {
  std::string file;  // "accuracy"
  Chart chart;
};
std::vector<NamedChart> charts(const std::vector<RunGroup>& groups);

// One HTML file without external scripts, fonts or images; it opens from disk and prints.
std::string report_page(const std::vector<RunGroup>& groups, const DrawGraph& draw_graph);

// Writes files for papers and other programs into folders, which are created if necessary:
// accuracy.svg .., table.tex and table.md; runs.csv, nodes.csv and a file of measurements per run.
// Returns the files written.
std::vector<std::filesystem::path> write_figures(const std::vector<RunGroup>& groups,
                                                 const std::filesystem::path& folder);
std::vector<std::filesystem::path> write_csv(const std::vector<RunGroup>& groups,
                                             const std::filesystem::path& folder);

}  // namespace veche::web
