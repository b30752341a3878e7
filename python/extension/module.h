#pragma once

#include <pybind11/pybind11.h>

namespace veche::python {

namespace py = pybind11;

// Each adds a part to the extension. Threads: functions that wait release the GIL; what the library
// calls on its own threads takes it.

}  // namespace veche::python
