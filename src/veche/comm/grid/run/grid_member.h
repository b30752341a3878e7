#pragma once

#include <memory>
#include <string>

#include "veche/comm/grid/grid.h"

namespace veche::grid {

// The functions of grid.h, inside the module.
std::unique_ptr<Grid> found_member(const GridOptions& options, const std::string& configuration);
std::unique_ptr<Grid> join_member(const GridOptions& options, const std::string& invitation);
std::unique_ptr<Grid> resume_member(const GridOptions& options);

enum class Entry { found, join, resume };
// Uses the files that these have written.
std::unique_ptr<Grid> make_member_of_run(const GridOptions& options, Entry entry);

}  // namespace veche::grid
