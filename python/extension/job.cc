#include "veche/job.h"

#include <pybind11/stl.h>

#include "extension/module.h"

namespace veche::python {

void add_job(py::module_& module) {
  py::class_<JobPlace>(module, "JobPlace")
      .def_readonly("rank", &JobPlace::rank)
      .def_readonly("size", &JobPlace::size)
      .def_readonly("local_rank", &JobPlace::local_rank)
      .def_readonly("local_size", &JobPlace::local_size);
  const auto release = py::call_guard<py::gil_scoped_release>();
  module.def("place_in_job", &place_in_job, release);
  module.def("make_local_job", &make_local_job, release);
  module.def("local_job_socket", &local_job_socket);
  module.def("join_local_job", &join_local_job, release);
}

}  // namespace veche::python
