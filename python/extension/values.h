#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "veche/options.h"

namespace veche::python {

// A value of a configuration: bool, int, float, str, a path, a list, a dict, or what NumPy has of
// them. TypeError, naming `where`, for anything else.
Value to_value(pybind11::handle object, const std::string& where);

// The other way round.
pybind11::object from_value(const Value& value);

}  // namespace veche::python
