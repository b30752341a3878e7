#include "extension/strategy_exceptions.h"

#include <utility>

#include "veche/run.h"

namespace veche::python {
namespace {

constexpr char kThrown[] = "_veche_thrown";  // the attribute of an exception that came from the library

// The last exception that left Python code, and its text in C++: where the library passes on an
// exception of its own type or only the text, the object and its traceback are found here. Guarded
// by the GIL.
struct Last {
  Kept value;
  std::string text;
};
Last& last() {
  static Last& kept = *new Last;  // never destroyed: the interpreter may be gone then
  return kept;
}

py::object library_class(const char* name) { return py::module_::import("veche._veche").attr(name); }

// "ValueError: no luck (train.py, line 12)"
std::string describe(py::handle value) {
  try {
    return py::module_::import("veche.own").attr("_describe")(value).cast<std::string>();
  } catch (py::error_already_set&) {
    return py::type::of(value).attr("__name__").cast<std::string>();
  }
}

bool is_instance(py::handle value, const char* name) { return py::isinstance(value, library_class(name)); }

[[noreturn]] void raise(const char* name, const std::string& what, const std::exception_ptr& thrown,
                        const PeerLost* lost = nullptr) {
  const py::object value = library_class(name)(what);
  if (lost != nullptr) value.attr("peer") = lost->peer().value;
  value.attr(kThrown) = py::capsule(new std::exception_ptr(thrown),
                                    [](void* pointer) { delete static_cast<std::exception_ptr*>(pointer); });
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
  throw py::error_already_set();
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const PythonError& raised) {
    raised.restore();
    last() = {};
  } catch (const PythonRequestError& raised) {
    raised.restore();
    last() = {};
  } catch (const Error& failed) {
    const Last cause = std::exchange(last(), {});
    if (!cause.value || std::string(failed.what()).find(cause.text) == std::string::npos) throw;
    if (failed.what() == cause.text) return Raised(cause.value).restore();
    // In a job of several ranks only the text comes back, and the rank's name.
    const py::object value = library_class("RunError")(failed.what());
    value.attr("__cause__") = cause.value.get();
    Raised(Kept(value)).restore();
  }
}

}  // namespace

Kept::Kept(py::object object)
    : object_(object.release().ptr(), [](PyObject* pointer) {
        if (pointer == nullptr || Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0) return;
        const py::gil_scoped_acquire gil;
        Py_DECREF(pointer);
      }) {}

void Raised::restore() const {
  const py::handle value = value_.get();
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
}

void throw_raised(py::error_already_set& raised) {
  const py::object value = raised.value();
  if (raised.trace()) PyException_SetTraceback(value.ptr(), raised.trace().ptr());
  if (py::hasattr(value, kThrown)) {
    const auto thrown = *value.attr(kThrown).cast<py::capsule>().get_pointer<std::exception_ptr>();
    py::delattr(value, kThrown);
    // The loss of a peer is a consequence: the cause is kept instead.
    if (is_instance(value, "Error") && (!last().value || !is_instance(value, "PeerLost")))
      last() = {Kept(value), py::str(value).cast<std::string>()};
    std::rethrow_exception(thrown);
  }
  const std::string text =
      is_instance(value, "RequestError") ? py::str(value).cast<std::string>() : describe(value);
  const Kept kept(value);
  last() = {kept, text};
  if (is_instance(value, "RequestError")) throw PythonRequestError(text, kept);
  throw PythonError(text, kept);
}

void raise_thrown(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Raised& raised) {
    raised.restore();
    throw py::error_already_set();
  } catch (const PeerLost& lost) {
    raise("PeerLost", lost.what(), thrown, &lost);
  } catch (const RequestError& wrong) {
    raise("RequestError", wrong.what(), thrown);
  } catch (const RunError& failed) {
    raise("RunError", failed.what(), thrown);
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    raise("NodeEnded", "this node ends here", thrown);
  }
}

void forget_frames() {
  if (!last().value) return;
  try {
    py::module_::import("veche.own").attr("_forget_frames")(last().value.get());
  } catch (py::error_already_set& raised) {
    raised.discard_as_unraisable("veche");
  }
}

void add_exceptions(py::module_& module) {
  // No Exception, so that no handler of failures in Python code stops it.
  const py::exception<NodeEnded> ended(module, "NodeEnded", PyExc_BaseException);
  ended.attr("__doc__") = "Ends a node's helpers when the node ends. Handlers of failures do not catch it.";
  ended.attr("__module__") = "veche";
  py::register_exception_translator(translate);
}

}  // namespace veche::python
