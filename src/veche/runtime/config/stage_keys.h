#pragma once

#include "veche/options.h"
#include "veche/settings.h"

namespace veche {

// The keys of [pipeline] that take values of two kinds. The first two throw RequestError for a
// value that is of neither kind.
PipelineCut read_pipeline_cut(const Value& value);  // a word, or a list of the places
Recompute read_recompute(const Value& value);       // true, false or a word
Value written(const PipelineCut& cut);
Value written(Recompute recompute);

}  // namespace veche
