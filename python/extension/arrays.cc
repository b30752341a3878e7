#include "extension/arrays.h"

#include <cstring>
#include <vector>

namespace veche::python {
namespace {

std::string type_name(py::handle object) { return py::type::of(object).attr("__name__").cast<std::string>(); }

// What numpy calls the items of the buffer.
std::string item_name(const Py_buffer& view) {
  const char* const format = view.format == nullptr ? "B" : view.format;
  try {
    return py::str(py::module_::import("numpy").attr("dtype")(format)).cast<std::string>();
  } catch (py::error_already_set&) {
    return format;
  }
}

bool is_float(const Py_buffer& view) {
  const std::string format = view.format == nullptr ? "B" : view.format;
  return view.itemsize == sizeof(float) && (format == "f" || format == "<f" || format == "=f");
}

}  // namespace

Buffer Buffer::read(py::handle object, const std::string& name) {
  Buffer buffer;
  if (PyObject_CheckBuffer(object.ptr()) == 0)
    throw py::type_error(name + " must be an array or bytes, not " + type_name(object));
  if (PyObject_GetBuffer(object.ptr(), &buffer.view_, PyBUF_FULL_RO) != 0) throw py::error_already_set();
  if (PyBuffer_IsContiguous(&buffer.view_, 'C') == 0)
    throw py::type_error(name + " must be contiguous: numpy.ascontiguousarray makes a copy that is");
  if (buffer.view_.format != nullptr && std::strchr(buffer.view_.format, 'O') != nullptr)
    throw py::type_error(name + " must hold numbers, not Python objects");
  return buffer;
}

Buffer Buffer::floats(py::handle object, const std::string& name) {
  if (PyObject_CheckBuffer(object.ptr()) == 0)
    throw py::type_error(name + " must be an array of float32, not " + type_name(object));
  Buffer buffer;
  if (PyObject_GetBuffer(object.ptr(), &buffer.view_, PyBUF_FULL_RO) != 0) throw py::error_already_set();
  if (!is_float(buffer.view_))
    throw py::type_error(name + " must be an array of float32, not of " + item_name(buffer.view_));
  if (PyBuffer_IsContiguous(&buffer.view_, 'C') == 0)
    throw py::type_error(name + " must be contiguous: it is changed in place");
  if (buffer.view_.readonly != 0)
    throw py::type_error(name + " is read-only and must be writable: it is changed in place");
  return buffer;
}

py::array view_of(std::span<float> memory, py::handle owner) {
  return py::array_t<float>({static_cast<py::ssize_t>(memory.size())}, {sizeof(float)}, memory.data(), owner);
}

py::object array_of(const Message& message, py::handle dtype, py::handle shape) {
  const std::span<const std::byte> bytes = message.bytes();
  if (dtype.ptr() == reinterpret_cast<PyObject*>(&PyBytes_Type))
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const py::dtype type = py::dtype::from_args(py::reinterpret_borrow<py::object>(dtype));
  const auto size = static_cast<std::size_t>(type.itemsize());
  if (size == 0 || type.kind() == 'O') throw py::type_error("dtype must be one of numbers, or bytes");
  if (bytes.size() % size != 0)
    throw py::value_error("a message of " + std::to_string(bytes.size()) + " bytes holds no whole items of " +
                          py::str(type.attr("name")).cast<std::string>());
  const py::capsule owner(new Message(message), [](void* pointer) { delete static_cast<Message*>(pointer); });
  py::array array(type, {static_cast<py::ssize_t>(bytes.size() / size)}, bytes.data(), owner);
  array.attr("setflags")(py::arg("write") = false);
  return shape.is_none() ? py::object(array) : array.attr("reshape")(shape);
}

}  // namespace veche::python
