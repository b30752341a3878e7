#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "extension/module.h"
#include "veche/errors.h"

namespace veche::python {

// A Python object that any thread may hold and release, with or without the GIL. `get` needs it.
class Kept {
 public:
  Kept() = default;
  explicit Kept(py::object object);
  py::handle get() const { return object_.get(); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  std::shared_ptr<PyObject> object_;
};

// An exception of Python code on its way through the library's threads. Where it returns to Python
// it is the same object again, with its traceback.
class Raised {
 public:
  explicit Raised(Kept value) : value_(std::move(value)) {}
  // Sets Python's error indicator. Needs the GIL.
  void restore() const;

 private:
  Kept value_;
};
class PythonError : public std::runtime_error, public Raised {
 public:
  PythonError(const std::string& what, Kept value) : std::runtime_error(what), Raised(std::move(value)) {}
};
class PythonRequestError : public RequestError, public Raised {
 public:
  PythonRequestError(const std::string& what, Kept value) : RequestError(what), Raised(std::move(value)) {}
};

// Throws the exception that Python code has raised as one of the above. An exception of the library
// that went through Python code is thrown as it was.
[[noreturn]] void throw_raised(py::error_already_set& raised);
// Raises an exception of the library in Python code that called it. Waits also end by exceptions
// that are no errors, such as the end of the node: these are no `Exception` in Python.
[[noreturn]] void raise_thrown(const std::exception_ptr& thrown);

// Calls Python code from a thread of the library. The call returns no Python object.
template <class Call>
auto in_python(Call call) {
  const py::gil_scoped_acquire gil;
  try {
    return call();
  } catch (py::error_already_set& raised) {
    throw_raised(raised);
  }
}

// Calls the library from Python code, without the GIL.
template <class Call>
auto in_library(Call call) {
  std::exception_ptr thrown;
  {
    const py::gil_scoped_release released;
    try {
      return call();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  raise_thrown(thrown);
}

// The views of a run's memory that this frame of Python code had are about to end: forgets the
// local variables of the frames that the last exception went through. Needs the GIL.
void forget_frames();

}  // namespace veche::python
