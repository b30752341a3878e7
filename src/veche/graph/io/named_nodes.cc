#include "veche/graph/io/named_nodes.h"

#include <charconv>

#include "veche/errors.h"

namespace veche {
namespace {

// The names as numbers, or nullopt unless they are exactly 0 to n-1.
std::optional<std::vector<int>> as_numbers(const std::vector<std::string>& names) {
  std::vector<int> numbers;
  std::vector<char> seen(names.size(), 0);
  for (const std::string& name : names) {
    int value = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    if (value < 0 || static_cast<std::size_t>(value) >= names.size() ||
        seen[static_cast<std::size_t>(value)]++) {
      return std::nullopt;
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace

std::size_t NamedNodes::place(const std::string& name) {
  const auto [found, added] = places_.try_emplace(name, names_.size());
  if (added) {
    names_.push_back(name);
    labels_.emplace_back();
  }
  return found->second;
}

void NamedNodes::mention(const std::string& name) { place(name); }

void NamedNodes::label(const std::string& name, std::string_view words) {
  labels_[place(name)] = clean_label(words);
}

void NamedNodes::link(const std::string& from, const std::string& to, std::optional<double> weight) {
  const std::size_t first = place(from);
  links_.push_back({first, place(to), weight});
}

std::vector<std::string> NamedNodes::labels(const std::optional<std::vector<int>>& numbers) const {
  std::vector<std::string> all(names_.size());
  bool any = false;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::size_t number = numbers ? static_cast<std::size_t>((*numbers)[i]) : i;
    std::string words = labels_[i].empty() ? clean_label(names_[i]) : labels_[i];
    if (words == std::to_string(number)) continue;
    any = true;
    all[number] = std::move(words);
  }
  return any ? all : std::vector<std::string>{};
}

StoredGraph NamedNodes::finish(bool directed) const {
  if (links_.empty()) throw RequestError("it has no edges");
  const auto numbers = as_numbers(names_);
  const auto number = [&](std::size_t i) { return numbers ? (*numbers)[i] : static_cast<int>(i); };
  StoredGraph stored;
  stored.nodes = static_cast<int>(names_.size());
  stored.directed = directed;
  stored.labels = labels(numbers);
  for (const Link& link : links_) stored.edges.push_back({number(link.from), number(link.to), link.weight});
  return stored;
}

}  // namespace veche
