#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <span>
#include <string>

#include "extension/module.h"
#include "veche/message.h"

namespace veche::python {

// The memory of an argument, by the buffer protocol, held until this is destroyed. Both ends need
// the GIL; the memory may be used without it. A TypeError names the argument.
class Buffer {
 public:
  // Contiguous memory of any kind of number, or bytes.
  static Buffer read(py::handle object, const std::string& name);
  // Contiguous and writable float32.
  static Buffer floats(py::handle object, const std::string& name);
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(Buffer&& other) noexcept : view_(other.view_) { other.view_ = {}; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }
  std::span<float> floats() const {
    return {static_cast<float*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(float)};
  }

 private:
  Buffer() = default;
  Py_buffer view_{};
};

// An array on memory that something else owns, which `owner` keeps.
py::array view_of(std::span<float> memory, py::handle owner);
// An array on a message's memory, which others read too: read-only. Without a shape it has one
// dimension. dtype `bytes` gives bytes.
py::object array_of(const Message& message, py::handle dtype, py::handle shape);

}  // namespace veche::python
