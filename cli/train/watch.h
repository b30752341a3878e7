#pragma once

#include <memory>

#include "cli/model/serving.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {

// Passes everything on to `next`, and once the run has its folder serves the live page of it, until it is
// destroyed: `veche train --watch`. A page that cannot be served is a sentence, not the end of the run.
std::unique_ptr<RunObserver> with_live_page(RunObserver& next, const ServingWords& where);

}  // namespace veche::cli
