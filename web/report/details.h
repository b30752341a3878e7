#pragma once

#include <string>
#include <vector>

#include "web/report/report.h"

namespace veche::web {

// What the page shows when it is asked to: settings that differ, every run, further curves, graphs,
// and for each run its nodes, measurements and configuration.
std::string details_of(const std::vector<RunGroup>& groups, const Findings& findings,
                       const std::vector<NamedChart>& further, const DrawGraph& draw_graph);

}  // namespace veche::web
