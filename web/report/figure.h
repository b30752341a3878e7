#pragma once

#include <string>
#include <vector>

#include "web/report/report.h"

namespace veche::web {

// Charts beside each other with their titles and one legend, as a figure of the page; empty if there
// is nothing to draw.
std::string figure_of(const std::vector<NamedChart>& some);

}  // namespace veche::web
