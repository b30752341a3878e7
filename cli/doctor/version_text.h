#pragma once

#include <string>

namespace veche::cli {

// "veche 0.1.0", the commit, and the modules of this build, loadable or not; a line each.
std::string version_text();

}  // namespace veche::cli
