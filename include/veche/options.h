#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "veche/export.h"

namespace veche {

// A configuration value, whatever file or flag it came from.
struct Value {
  using List = std::vector<Value>;
  using Table = std::map<std::string, Value, std::less<>>;
  std::variant<bool, std::int64_t, double, std::string, List, Table> data;

  bool operator==(const Value&) const = default;
};

// The keys of one section, already checked against the section's list of keys and completed with
// defaults: `get` of a key that is not there, or is of another kind, is a mistake in the program
// and throws.
class VECHE_API Options {
 public:
  Options() = default;
  explicit Options(std::map<std::string, Value, std::less<>> values) : values_(std::move(values)) {}

  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  void set(std::string key, Value value) { values_.insert_or_assign(std::move(key), std::move(value)); }
  const Value& at(std::string_view key) const;
  const std::map<std::string, Value, std::less<>>& all() const { return values_; }

  // bool, int, std::int64_t, double, std::string, std::vector<double>, std::vector<std::int64_t>,
  // std::vector<std::string>. A whole number is taken where a double is asked for.
  template <class T>
  T get(std::string_view key) const;
  template <class T>
  T get(std::string_view key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }

 private:
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace veche
