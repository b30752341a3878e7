#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "veche/base/value_as.h"
#include "veche/data/division/partition.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/key_words.h"
#include "veche/runtime/config/stage_keys.h"
#include "veche/runtime/config/word_keys.h"

namespace veche {

// What a key's value may be, besides what the type of its member says.
struct KeyChecks {
  std::optional<KeySpec::Kind> kind = {};  // of members that hold a Value; any when absent
  bool follows = false;                    // the default follows from other keys
  std::vector<std::string> choices = {};
  std::optional<double> least = {};
  bool above_least = false;
  std::optional<double> most = {};
  bool below_most = false;
  bool may_be_empty = false;
  // As in KeySpec and SectionKey.
  bool path = false;
  bool members_own = false;
  bool may_change = false;
  bool of_run = false;
  std::function<std::vector<std::string>()> words = {};
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

// Types whose text is a word and what belongs to it, such as "sample:3".
template <class T>
constexpr bool kIsWordWithMore = std::same_as<T, TestedModels> || std::same_as<T, DataDivision>;

template <class T>
constexpr KeySpec::Kind kind_of() {
  using Kind = KeySpec::Kind;
  if constexpr (IsOptional<T>::value) return kind_of<typename T::value_type>();
  if constexpr (std::same_as<T, bool>) return Kind::flag;
  if constexpr (std::same_as<T, int> || std::same_as<T, std::int64_t>) return Kind::whole;
  if constexpr (std::same_as<T, double>) return Kind::real;
  if constexpr (std::same_as<T, Recompute>) return Kind::any;
  if constexpr (std::same_as<T, std::string> || std::is_enum_v<T> || kIsWordWithMore<T>) return Kind::text;
  if constexpr (std::same_as<T, std::vector<std::int64_t>>) return Kind::wholes;
  if constexpr (std::same_as<T, std::vector<double>>) return Kind::reals;
  if constexpr (std::same_as<T, std::vector<std::string>> || std::same_as<T, DataPath>) return Kind::texts;
  return Kind::any;
}

template <class T>
T member_of(const Value& value, const std::string& key) {
  if constexpr (IsOptional<T>::value) {
    return member_of<typename T::value_type>(value, key);
  } else if constexpr (std::same_as<T, PipelineCut>) {
    return read_pipeline_cut(value);
  } else if constexpr (std::same_as<T, Recompute>) {
    return read_recompute(value);
  } else if constexpr (std::same_as<T, TestedModels>) {
    return read_tested_models(value_as<std::string>(value, key));
  } else if constexpr (std::same_as<T, DataDivision>) {
    return read_partition(value_as<std::string>(value, key));
  } else if constexpr (std::is_enum_v<T>) {
    return of_word<T>(value_as<std::string>(value, key));
  } else if constexpr (std::same_as<T, Value>) {
    return value;
  } else if constexpr (std::same_as<T, DataPath>) {
    if (const auto* one = std::get_if<std::string>(&value.data)) return {*one};
    return {{}, value_as<std::vector<std::string>>(value, key)};
  } else {
    return value_as<T>(value, key);
  }
}

template <class T>
std::optional<Value> value_of(const T& member) {
  if constexpr (IsOptional<T>::value) {
    return member ? value_of(*member) : std::nullopt;
  } else if constexpr (std::same_as<T, PipelineCut> || std::same_as<T, Recompute>) {
    return written(member);
  } else if constexpr (std::is_enum_v<T> || kIsWordWithMore<T>) {
    return Value{word_of(member)};
  } else if constexpr (std::same_as<T, Value>) {
    return member;
  } else if constexpr (std::same_as<T, DataPath>) {
    return member.one.empty() ? value_of(member.per_node) : value_of(member.one);
  } else if constexpr (IsList<T>::value) {
    if (member.empty()) return {};
    Value::List list;
    for (const auto& item : member) list.push_back({item});
    return Value{std::move(list)};
  } else if constexpr (std::same_as<T, int>) {
    return Value{std::int64_t{member}};
  } else {
    return Value{member};
  }
}

// One for all keys: a new one for each makes GCC 12 warn of members that it believes uninitialised.
template <class Section>
const Section& defaults_of() {
  static const Section defaults;
  return defaults;
}

// Makes the lines of one section's table.
template <class Section>
struct Line {
  Section Settings::*section;

  template <class T>
  SectionKey operator()(std::string name, T Section::*member, std::string help, KeyChecks checks = {}) const {
    SectionKey key;
    key.name = name;
    key.kind = checks.kind.value_or(kind_of<T>());
    if (!checks.follows) key.fallback = value_of(defaults_of<Section>().*member);
    key.help = std::move(help);
    key.choices = std::move(checks.choices);
    if constexpr (std::is_enum_v<T>)
      if (key.choices.empty()) key.choices = words_of<T>();
    key.least = checks.least;
    key.above_least = checks.above_least;
    key.most = checks.most;
    key.below_most = checks.below_most;
    key.may_be_empty = checks.may_be_empty;
    key.is_path = checks.path;
    key.members_own = checks.members_own;
    key.may_change = checks.may_change;
    key.of_run = checks.of_run;
    key.words = std::move(checks.words);
    key.fill = [=, section = section](Settings& settings, const Value& value) {
      settings.*section.*member = member_of<T>(value, name);
    };
    key.value = [=, section = section](const Settings& settings) {
      return value_of(settings.*section.*member);
    };
    key.holds = [=, section = section](const Settings& settings, const Value& value) {
      return settings.*section.*member == member_of<T>(value, name);
    };
    return key;
  }
};

}  // namespace veche
