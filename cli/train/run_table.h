#pragma once

#include "veche/run.h"

namespace veche::cli {

// What came of a run, node by node and in all, on standard error.
void print_run(const RunResult& result);

}  // namespace veche::cli
