#pragma once

#include <pybind11/pybind11.h>

namespace veche::python {

namespace py = pybind11;

// Each adds a part to the extension. Threads: functions that wait release the GIL; what the library
// calls on its own threads takes it.
void add_runs(py::module_& module);
void add_topologies(py::module_& module);
void add_exceptions(py::module_& module);
void add_strategy_node(py::module_& module);
void add_strategy(py::module_& module);
void add_learner(py::module_& module);
void add_dataset(py::module_& module);

void add_loop(py::module_& module);
void add_comm(py::module_& module);
void add_job(py::module_& module);
void add_dlpack(py::module_& module);

}  // namespace veche::python
