#pragma once

#include "veche/run.h"

namespace veche::cli {

// Prints the result of a run on standard error, node by node and in all.
void print_run(const RunResult& result);

}  // namespace veche::cli
