#include "extension/values.h"

#include <cstdint>

namespace veche::python {

namespace py = pybind11;

namespace {

std::string kind_of(py::handle object) { return py::str(py::type::of(object).attr("__name__")); }

std::int64_t to_whole(py::handle object, const std::string& where) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow != 0) throw py::value_error(where + " has more than 64 bits");
  if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return value;
}

Value to_table(const py::dict& items, const std::string& where) {
  Value::Table table;
  for (const auto& [key, item] : items) {
    if (!py::isinstance<py::str>(key))
      throw py::type_error(where + " has a key that is no str but " + kind_of(key));
    const std::string name = py::cast<std::string>(key);
    table.emplace(name, to_value(item, where + "." + name));
  }
  return {std::move(table)};
}

}  // namespace

Value to_value(py::handle object, const std::string& where) {
  if (py::isinstance<py::bool_>(object)) return {py::cast<bool>(object)};
  if (py::isinstance<py::int_>(object)) return {to_whole(object, where)};
  if (py::isinstance<py::float_>(object)) return {py::cast<double>(object)};
  if (py::isinstance<py::str>(object)) return {py::cast<std::string>(object)};
  if (py::isinstance<py::dict>(object)) return to_table(py::reinterpret_borrow<py::dict>(object), where);
  if (py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object)) {
    Value::List list;
    for (const py::handle item : object) list.push_back(to_value(item, where));
    return {std::move(list)};
  }
  // Arrays and numbers of NumPy, and what behaves like them.
  if (py::hasattr(object, "tolist")) {
    const py::object plain = object.attr("tolist")();
    if (!py::hasattr(plain, "tolist")) return to_value(plain, where);
  }
  if (py::hasattr(object, "__fspath__"))
    return to_value(py::module_::import("os").attr("fspath")(object), where);
  throw py::type_error(where + " must be a number, str, bool, list or dict, not " + kind_of(object));
}

py::object from_value(const Value& value) {
  struct Convert {
    py::object operator()(bool item) const { return py::bool_(item); }
    py::object operator()(std::int64_t item) const { return py::int_(item); }
    py::object operator()(double item) const { return py::float_(item); }
    py::object operator()(const std::string& item) const { return py::str(item); }
    py::object operator()(const Value::List& items) const {
      py::list list;
      for (const Value& item : items) list.append(from_value(item));
      return list;
    }
    py::object operator()(const Value::Table& items) const {
      py::dict table;
      for (const auto& [key, item] : items) table[py::str(key)] = from_value(item);
      return table;
    }
  };
  return std::visit(Convert{}, value.data);
}

}  // namespace veche::python
