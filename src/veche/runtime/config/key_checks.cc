#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/text/nearest.h"
#include "veche/base/text/utf8.h"
#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"

namespace veche {
namespace {

using Kind = KeySpec::Kind;

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::flag:
      return "true or false";
    case Kind::whole:
      return "a whole number";
    case Kind::real:
      return "a number";
    case Kind::text:
      return "a word";
    case Kind::list:
      return "a list such as [1, 2]";
    case Kind::wholes:
      return "a list of whole numbers such as [1, 2]";
    case Kind::reals:
      return "a list of numbers such as [1, 2.5]";
    case Kind::texts:
      return "a word or a list of words";
    case Kind::tables:
      return "a table such as {nodes = 2}, or a list of them";
    case Kind::any:
      break;
  }
  return "a value";
}

// Whether the value contains no infinity and no NaN.
bool is_finite(const Value& value) {
  if (const auto* number = std::get_if<double>(&value.data)) return std::isfinite(*number);
  if (const auto* table = std::get_if<Value::Table>(&value.data))
    return std::ranges::all_of(*table, [](const auto& item) { return is_finite(item.second); });
  const auto* list = std::get_if<Value::List>(&value.data);
  return list == nullptr || std::ranges::all_of(*list, is_finite);
}

bool holds_table(const Value& value) {
  if (std::holds_alternative<Value::Table>(value.data)) return true;
  const auto* list = std::get_if<Value::List>(&value.data);
  return list != nullptr && std::ranges::any_of(*list, holds_table);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool fits(const Value& value, Kind kind) {
  const auto list_of = [&](Kind item_kind) {
    const auto* list = std::get_if<Value::List>(&value.data);
    return list != nullptr &&
           std::ranges::all_of(*list, [&](const Value& item) { return fits(item, item_kind); });
  };
  const auto is_table = [](const Value& item) { return std::holds_alternative<Value::Table>(item.data); };
  if (kind != Kind::tables && holds_table(value)) return false;
  switch (kind) {
    case Kind::flag:
      return std::holds_alternative<bool>(value.data);
    case Kind::whole:
      return std::holds_alternative<std::int64_t>(value.data);
    case Kind::real:
      return std::holds_alternative<double>(value.data) || std::holds_alternative<std::int64_t>(value.data);
    case Kind::text:
      return std::holds_alternative<std::string>(value.data);
    case Kind::list:
      return std::holds_alternative<Value::List>(value.data);
    case Kind::wholes:
      return list_of(Kind::whole);
    case Kind::reals:
      return list_of(Kind::real);
    case Kind::texts:
      return fits(value, Kind::text) || list_of(Kind::text);
    case Kind::tables: {
      const auto* list = std::get_if<Value::List>(&value.data);
      return is_table(value) || (list != nullptr && std::ranges::all_of(*list, is_table));
    }
    case Kind::any:
      break;
  }
  return true;
}

constexpr double kMostOfAnything = 1e15;  // where a key has no limit of its own: what is larger is a mistake

// Limits hold for a number, and for every number of a list.
void check_numbers(const std::string& where, const Value& value, const KeySpec& spec) {
  if (const auto* list = std::get_if<Value::List>(&value.data))
    for (const Value& item : *list) check_numbers(where, item, spec);
  const auto* whole = std::get_if<std::int64_t>(&value.data);
  const auto* real = std::get_if<double>(&value.data);
  if (whole == nullptr && real == nullptr) return;
  const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
  if (spec.least && (number < *spec.least || (spec.above_least && number == *spec.least)))
    throw RequestError(fmt::format("{} must be {} {}, not {}", where, spec.above_least ? "above" : "at least",
                                   *spec.least, to_toml(value)));
  if (spec.infinite && std::isinf(number)) return;
  const bool limited = spec.most || (spec.kind != Kind::any && spec.kind != Kind::list);
  const double most = spec.most.value_or(kMostOfAnything);
  if (limited && (number > most || (spec.below_most && number == most)))
    throw RequestError(fmt::format("{} must be {} {}, not {}", where, spec.below_most ? "below" : "at most",
                                   most, to_toml(value)));
}

// Words must not be empty and must be writable into a configuration.
void check_words(const std::string& where, const Value& value, const KeySpec& spec) {
  if (const auto* list = std::get_if<Value::List>(&value.data)) {
    if (list->empty() && !spec.may_be_empty)
      throw RequestError(fmt::format("{} is an empty list: give it items or leave it out", where));
    for (const Value& item : *list) check_words(where, item, spec);
  }
  if (const auto* table = std::get_if<Value::Table>(&value.data))
    for (const auto& [key, item] : *table) check_words(where + "." + key, item, spec);
  const auto* word = std::get_if<std::string>(&value.data);
  if (word == nullptr) return;
  if (word->empty() && (!spec.fallback || *spec.fallback != value))
    throw RequestError(fmt::format("{} is empty: give it a value or leave it out", where));
  if (std::ranges::any_of(*word, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    throw RequestError(fmt::format("{} = {} holds a control character; leave it out", where, to_toml(value)));
  if (!is_utf8(*word)) throw RequestError(fmt::format("{} = {} is not UTF-8 text", where, to_toml(value)));
}

void check(const std::string& where, const Value& value, const KeySpec& spec) {
  if (!fits(value, spec.kind))
    throw RequestError(fmt::format("{} must be {}, not {}", where, kind_name(spec.kind), to_toml(value)));
  if (!spec.infinite && !is_finite(value))
    throw RequestError(fmt::format("{} must be {}, not {}", where,
                                   spec.kind == Kind::real ? "a finite number" : "made of finite numbers",
                                   to_toml(value)));
  if (const auto* word = std::get_if<std::string>(&value.data); word != nullptr && !spec.choices.empty())
    if (std::ranges::find(spec.choices, *word) == spec.choices.end())
      throw RequestError(
          fmt::format("{} = \"{}\" does not exist{}", where, *word, suggestion(*word, spec.choices)));
  check_words(where, value, spec);
  check_numbers(where, value, spec);
}

}  // namespace

Options checked(const std::string& section, const std::map<std::string, Value, std::less<>>& given,
                const std::vector<KeySpec>& keys) {
  Options options;
  for (const KeySpec& spec : keys)
    if (spec.fallback) options.set(spec.name, *spec.fallback);
  for (const auto& [key, value] : given) {
    const auto spec = std::ranges::find(keys, key, &KeySpec::name);
    if (spec == keys.end()) {
      std::vector<std::string> names;
      for (const KeySpec& known : keys) names.push_back(known.name);
      if (const std::string near = nearest(key, names); !near.empty()) names = {near};
      for (std::string& name : names) name = section + "." + name;
      throw RequestError(fmt::format("there is no key {}.{}; {}", section, key,
                                     names.size() == 1
                                         ? fmt::format("did you mean '{}'?", names.front())
                                         : fmt::format("choose one of {}", fmt::join(names, ", "))));
    }
    check(section + "." + key, value, *spec);
    options.set(key, value);
  }
  return options;
}

std::string to_toml(const Value& value) {
  struct Writer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const {
      const std::string digits = fmt::format("{}", v);  // the shortest that reads back the same
      return digits.find_first_of(".ein") == std::string::npos ? digits + ".0" : digits;
    }
    std::string operator()(const std::string& v) const {
      std::string escaped;
      for (const char c : v) {
        const auto code = static_cast<unsigned char>(c);
        if (code < ' ' || code == 0x7f)
          escaped += fmt::format("\\u{:04x}", code);
        else
          escaped += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      }
      return '"' + escaped + '"';
    }
    std::string operator()(const Value::List& v) const {
      std::string items;
      for (const Value& item : v) items += (items.empty() ? "" : ", ") + to_toml(item);
      return '[' + items + ']';
    }
    std::string operator()(const Value::Table& v) const {
      std::string items;
      for (const auto& [key, item] : v)
        items += (items.empty() ? "" : ", ") + (*this)(key) + " = " + to_toml(item);
      return '{' + items + '}';
    }
  };
  return std::visit(Writer{}, value.data);
}

}  // namespace veche
