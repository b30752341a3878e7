#pragma once

#include <vector>

#include "extension/module.h"
#include "veche/key_spec.h"

namespace veche::python {

// The keys of a part of the user's own, from a list of dicts that veche/own.py makes.
std::vector<KeySpec> keys_from(py::handle keys);
// The values of these keys.
py::dict values_of(const Options& options, const std::vector<KeySpec>& keys);

}  // namespace veche::python
