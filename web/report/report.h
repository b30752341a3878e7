#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "web/report/chart.h"
#include "web/report/records.h"
#include "web/report/table.h"

namespace veche::web {

// A picture of the graph that a run's nodes talked on, as SVG; empty: it has none, or too many nodes to see.
using DrawGraph = std::function<std::string(const RunRecord&)>;

// What is told of groups of runs, for every form it is told in.
Sheet overview(const std::vector<RunGroup>& groups);
Sheet nodes_of(const RunRecord& run, std::size_t most_rows);
// Every measurement of a run: step, epoch, seconds, bytes, loss, accuracies, disagreement.
Sheet measurements(const RunRecord& run);

struct NamedChart {
  std::string file;  // "accuracy"
  Chart chart;
};
std::vector<NamedChart> charts(const std::vector<RunGroup>& groups);

// One HTML file without script, fonts or pictures from elsewhere, that opens from disk and prints.
std::string report_page(const std::vector<RunGroup>& groups, const DrawGraph& draw_graph);

// Files for papers and for other programs, into folders that exist or are made: accuracy.svg .., table.tex
// and table.md; runs.csv, nodes.csv and a file of measurements for each run. Gives what was written.
std::vector<std::filesystem::path> write_figures(const std::vector<RunGroup>& groups,
                                                 const std::filesystem::path& folder);
std::vector<std::filesystem::path> write_csv(const std::vector<RunGroup>& groups,
                                             const std::filesystem::path& folder);

}  // namespace veche::web
