// Arrays of other libraries by DLPack (https://dmlc.github.io/dlpack), without their code: the layout
// of its structures is fixed. NumPy's own reader is not enough: it makes every array read-only.
#include <pybind11/numpy.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "extension/module.h"

namespace veche::python {
namespace {

struct DlDevice {
  std::int32_t kind, number;
};
struct DlType {
  std::uint8_t kind, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  std::byte* data;
  DlDevice device;
  std::int32_t dimensions;
  DlType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t byte_offset;
};
struct DlManaged {  // "dltensor"
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct DlVersioned {  // "dltensor_versioned", from version 1 on
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DlVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};

constexpr int kHost = 1, kPinnedHost = 3;
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint32_t kMajor = 1;

std::string name_of(const DlType& type) {
  constexpr std::array<const char*, 7> kKinds{"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  return (type.kind < kKinds.size() ? kKinds[type.kind] : "unknown") + std::to_string(type.bits);
}

// Objects of before version 1 do not know the argument.
py::object capsule_of(const py::object& x) {
  try {
    return x.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(kMajor, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return x.attr("__dlpack__")();
}

// Owns what the capsule held, whose new name tells its maker so.
template <class Managed>
py::array array_over(const py::object& capsule, const char* name, const char* used, const std::string& what,
                     bool writable) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  PyCapsule_SetName(capsule.ptr(), used);
  const py::capsule owner(managed, [](void* held) {
    auto* const mine = static_cast<Managed*>(held);
    if (mine->deleter != nullptr) mine->deleter(mine);
  });
  const DlTensor& tensor = managed->tensor;
  if (tensor.type.kind != 2 || tensor.type.bits != 32 || tensor.type.lanes != 1)
    throw py::type_error(what + " has the type " + name_of(tensor.type) + ", and float32 is needed");
  std::vector<py::ssize_t> shape(tensor.shape, tensor.shape + tensor.dimensions), strides;
  if (tensor.strides != nullptr)
    for (int i = 0; i < tensor.dimensions; ++i)
      strides.push_back(tensor.strides[i] * static_cast<py::ssize_t>(sizeof(float)));
  py::array array(py::dtype::of<float>(), shape, strides, tensor.data + tensor.byte_offset, owner);
  if (!writable) array.attr("setflags")(py::arg("write") = false);
  return array;
}

// A view of the memory of x, which has __dlpack__; nothing is copied.
py::array array_by_dlpack(const py::object& x, const std::string& what) {
  const auto device = x.attr("__dlpack_device__")().cast<py::tuple>();
  const int kind = py::int_(device[0]);
  if (kind != kHost && kind != kPinnedHost)
    throw py::type_error(what + " is not in the host's memory: copy it there first");
  const py::object capsule = capsule_of(x);
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0)
    return array_over<DlManaged>(capsule, "dltensor", "used_dltensor", what, true);
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") == 0)
    throw py::type_error(what + " has a __dlpack__ that gives no array");
  const auto* const versioned =
      static_cast<const DlVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
  if (versioned->major > kMajor)
    throw py::type_error(what + " speaks version " + std::to_string(versioned->major) +
                         " of DLPack, and version 1 is known: pass it as a NumPy array");
  return array_over<DlVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned", what,
                                 (versioned->flags & kReadOnly) == 0);
}

}  // namespace

void add_dlpack(py::module_& module) { module.def("array_by_dlpack", &array_by_dlpack); }

}  // namespace veche::python
