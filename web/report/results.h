#pragma once

#include <string>

#include "web/report/findings.h"

namespace veche::web {

// The first table of the page: as `overview`, with the lines of the curves, the best value of each
// column in bold, and on a phone strategy, graph and codec below the name.
std::string results_table(const Findings& findings);

}  // namespace veche::web
