// The extension `veche._veche`. Each part of it has a file and one function that adds it.
#include "extension/module.h"

#include <exception>

#include "veche/endpoint.h"
#include "veche/errors.h"

namespace veche::python {
namespace {

void add_errors(py::module_& module) {
  static py::exception<Error> error(module, "Error");
  static py::exception<RequestError> request(module, "RequestError", error.ptr());
  static py::exception<RunError> run(module, "RunError", error.ptr());
  static py::exception<PeerLost> lost(module, "PeerLost", run.ptr());
  error.attr("__doc__") = "An error of Veche: one sentence that says what to do.";
  request.attr("__doc__") = "The request is wrong: a key, value, file or graph. Nothing was written.";
  run.attr("__doc__") = "The run failed after it started. Everything saved so far stays saved.";
  lost.attr("__doc__") = "A peer is gone, or did not answer in time, and its message is needed.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const PeerLost& caught) {
      lost(caught.what());
    } catch (const RunError& caught) {
      run(caught.what());
    } catch (const RequestError& caught) {
      request(caught.what());
    } catch (const Error& caught) {
      error(caught.what());
    } catch (const ViewChanged&) {  // an exchange of the loop's own, between two steps
      lost("the members of the run have changed: exchange again after the next step");
    }
  });
}

}  // namespace
}  // namespace veche::python

PYBIND11_MODULE(_veche, module) {
  module.doc() = "Veche's library, as the package `veche` uses it.";
  module.attr("__version__") = VECHE_VERSION;
  veche::python::add_errors(module);
  veche::python::add_loop(module);
  veche::python::add_comm(module);
  veche::python::add_job(module);
  veche::python::add_dlpack(module);
  veche::python::add_runs(module);
  veche::python::add_topologies(module);
  veche::python::add_exceptions(module);
  veche::python::add_strategy_node(module);
  veche::python::add_strategy(module);
  veche::python::add_learner(module);
  veche::python::add_dataset(module);
}
