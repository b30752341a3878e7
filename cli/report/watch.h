#pragma once

#include <memory>

#include "cli/model/serving.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {

// `veche train --watch`: passes everything on to `next`, and serves the live page of the run from
// the moment it has a folder. A page that cannot be served is a notice and does not stop the run.
std::unique_ptr<RunObserver> with_live_page(RunObserver& next, const ServingArguments& where);

}  // namespace veche::cli
