#pragma once

#include "veche/config.h"
#include "veche/data/sets/source.h"
#include "veche/model_spec.h"

namespace veche {

// The model that the settings name, for the samples of `source`, at this node.
ModelSpec make_model_spec(const Settings& settings, const DataSource& source, NodeId node);

}  // namespace veche
