#pragma once

#include <string>

#include "veche/export.h"
#include "veche/report.h"
#include "veche/run.h"

namespace veche {

// The JSON object of `veche train --json` and summary.json; docs/runs.md describes its keys.
VECHE_API std::string summary_json(const RunResult& result);

// The JSON object that is one line of metrics.jsonl. `epoch` is RunInfo::epoch of its step.
VECHE_API std::string metrics_json(const Evaluation& evaluation, double epoch);

}  // namespace veche
