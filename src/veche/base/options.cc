#include "veche/options.h"

#include <limits>
#include <stdexcept>
#include <type_traits>

#include "veche/base/value_as.h"
#include "veche/errors.h"

namespace veche {
namespace {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
T converted(const Value& value, std::string_view key) {
  if constexpr (IsVector<T>::value) {
    T result;
    if (const auto* list = std::get_if<Value::List>(&value.data)) {
      for (const Value& item : *list) result.push_back(converted<typename T::value_type>(item, key));
      return result;
    }
    // KeySpec::Kind::texts: a single word is a list of one.
    if constexpr (std::is_same_v<T, std::vector<std::string>>)
      if (const auto* word = std::get_if<std::string>(&value.data)) return {*word};
  } else if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value.data)) return *real;
  } else if constexpr (std::is_same_v<T, int>) {
    if (const auto* whole = std::get_if<std::int64_t>(&value.data)) {
      if (*whole < std::numeric_limits<int>::min() || *whole > std::numeric_limits<int>::max())
        throw RequestError(std::string(key) + " = " + std::to_string(*whole) + " is too large a number");
      return static_cast<int>(*whole);
    }
  } else {
    if (const auto* exact = std::get_if<T>(&value.data)) return *exact;
  }
  throw std::logic_error("option '" + std::string(key) +
                         "' is read as another kind of value than it was declared");
}

}  // namespace

const Value& Options::at(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw std::logic_error("option '" + std::string(key) + "' was never declared");
  return found->second;
}

template <class T>
T value_as(const Value& value, std::string_view key) {
  return converted<T>(value, key);
}

template <class T>
T Options::get(std::string_view key) const {
  return converted<T>(at(key), key);
}

template bool value_as<bool>(const Value&, std::string_view);
template int value_as<int>(const Value&, std::string_view);
template std::int64_t value_as<std::int64_t>(const Value&, std::string_view);
template double value_as<double>(const Value&, std::string_view);
template std::string value_as<std::string>(const Value&, std::string_view);
template std::vector<double> value_as<std::vector<double>>(const Value&, std::string_view);
template std::vector<std::int64_t> value_as<std::vector<std::int64_t>>(const Value&, std::string_view);
template std::vector<std::string> value_as<std::vector<std::string>>(const Value&, std::string_view);

template bool Options::get<bool>(std::string_view) const;
template int Options::get<int>(std::string_view) const;
template std::int64_t Options::get<std::int64_t>(std::string_view) const;
template double Options::get<double>(std::string_view) const;
template std::string Options::get<std::string>(std::string_view) const;
template std::vector<double> Options::get<std::vector<double>>(std::string_view) const;
template std::vector<std::int64_t> Options::get<std::vector<std::int64_t>>(std::string_view) const;
template std::vector<std::string> Options::get<std::vector<std::string>>(std::string_view) const;

}  // namespace veche
