#include "veche/graph/families/spec_words.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "veche/errors.h"

namespace veche {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

template <class T>
T Words::number(std::string_view word, const char* what) const {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) {
    wrong(fmt::format("has '{}' where {} should be", word, what));
  }
  return value;
}

Words::Words(std::string_view spec, const SpecContext& context)
    : spec_(spec), context_(context), seed_(context.seed) {
  std::string_view rest = spec;
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    seed_ = number<std::uint64_t>(rest.substr(at + 1), "a seed");
    seeded_ = true;
    rest = rest.substr(0, at);
  }
  words_ = split(rest, ':');
}

int Words::nodes() const {
  at_most(1);
  return count() == 1 ? whole(1, "a number of nodes") : cluster_nodes();
}

int Words::nodes_before_last() const {
  at_most(2);
  return count() == 2 ? whole(1, "a number of nodes") : cluster_nodes();
}

int Words::last(const char* what) const {
  at_least(1, what);
  return whole(count(), what);
}

double Words::last_fraction(const char* what) const {
  at_least(1, what);
  return number<double>(words_.back(), what);
}

std::vector<int> Words::last_list(const char* what) const {
  at_least(1, what);
  std::vector<int> numbers;
  for (const std::string& word : split(words_.back(), '+')) numbers.push_back(number<int>(word, what));
  return numbers;
}

int Words::whole(std::size_t index, const char* what) const { return number<int>(words_[index], what); }

std::vector<int> Words::sides(int least) const {
  at_most(1);
  if (count() == 1) {
    std::vector<int> sides;
    for (const std::string& side : split(words_[1], 'x')) sides.push_back(number<int>(side, "a side"));
    if (sides.size() < 2) wrong("needs its sides, as in " + family() + ":4x6");
    return sides;
  }
  const int nodes = cluster_nodes();
  int side = static_cast<int>(std::sqrt(nodes));
  while (side > 1 && nodes % side != 0) --side;
  if (side < least) {
    throw RequestError(
        fmt::format("{} nodes do not fill a {} with sides of at least {}: choose a number of nodes "
                    "such as {} or another graph, such as expander",
                    nodes, family(), least, (nodes / least + 1) * least));
  }
  return {side, nodes / side};
}

int Words::cluster_nodes() const {
  if (!context_.nodes) wrong("needs its number of nodes");
  return *context_.nodes;
}

void Words::at_most(std::size_t numbers) const {
  if (count() > numbers) wrong(fmt::format("has more than {} number{}", numbers, numbers == 1 ? "" : "s"));
}

void Words::at_least(std::size_t numbers, const char* what) const {
  if (count() < numbers) wrong(fmt::format("needs {}", what));
}

void Words::wrong(const std::string& why) const {
  throw RequestError(fmt::format("the graph '{}' {}", spec_, why));
}

}  // namespace veche
