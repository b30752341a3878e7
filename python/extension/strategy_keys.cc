#include "extension/strategy_keys.h"

#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>

#include "extension/values.h"

namespace veche::python {
namespace {

Value value_from(KeySpec::Kind kind, py::handle value) {
  switch (kind) {
    case KeySpec::Kind::flag:
      return {value.cast<bool>()};
    case KeySpec::Kind::whole:
      return {value.cast<std::int64_t>()};
    case KeySpec::Kind::real:
      return {value.cast<double>()};
    default:
      return {value.cast<std::string>()};
  }
}

}  // namespace

std::vector<KeySpec> keys_from(py::handle keys) {
  static const std::map<std::string, KeySpec::Kind> kinds{{"bool", KeySpec::Kind::flag},
                                                          {"int", KeySpec::Kind::whole},
                                                          {"float", KeySpec::Kind::real},
                                                          {"str", KeySpec::Kind::text}};
  std::vector<KeySpec> all;
  for (const py::handle key : keys) {
    KeySpec spec;
    spec.name = key["name"].cast<std::string>();
    spec.kind = kinds.at(key["kind"].cast<std::string>());
    spec.fallback = value_from(spec.kind, key["default"]);
    spec.help = key["help"].cast<std::string>();
    spec.choices = key["choices"].cast<std::vector<std::string>>();
    spec.least = key["least"].cast<std::optional<double>>();
    spec.most = key["most"].cast<std::optional<double>>();
    all.push_back(std::move(spec));
  }
  return all;
}

// A whole number is accepted where a key is a real one; Python code gets a float for it.
py::dict values_of(const Options& options, const std::vector<KeySpec>& keys) {
  py::dict values;
  for (const KeySpec& key : keys) {
    if (!options.has(key.name)) continue;
    values[py::str(key.name)] = key.kind == KeySpec::Kind::real
                                    ? py::object(py::float_(options.get<double>(key.name)))
                                    : from_value(options.at(key.name));
  }
  return values;
}

}  // namespace veche::python
