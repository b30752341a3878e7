#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "veche/errors.h"
#include "veche/graph/io/graph_file.h"

namespace veche {
namespace {

template <class T>
T number(const std::string& word, int line) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) {
    throw RequestError(fmt::format("line {} has '{}' where a number should be", line, word));
  }
  return value;
}

}  // namespace

// Lines of "i j" or "i j weight", separated by blanks, tabs or commas; "nodes N" and "directed" on
// lines of their own; # or % starts a comment.
std::vector<StoredGraph> read_edge_list(const std::string& text) {
  StoredGraph stored;
  std::istringstream lines(text);
  std::string line;
  for (int count = 1; std::getline(lines, line); ++count) {
    line = line.substr(0, line.find_first_of("#%"));
    std::ranges::replace_if(
        line, [](char c) { return c == ',' || c == ';' || c == '\t'; }, ' ');
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty()) continue;
    if (words.size() == 1 && words[0] == "directed") {
      stored.directed = true;
    } else if (words.size() == 2 && words[0] == "nodes") {
      stored.nodes = number<int>(words[1], count);
    } else if (words.size() == 2 || words.size() == 3) {
      StoredGraph::Link link{number<int>(words[0], count), number<int>(words[1], count), {}};
      if (words.size() == 3) link.weight = number<double>(words[2], count);
      stored.edges.push_back(link);
    } else {
      throw RequestError(fmt::format("line {} is not 'node node' or 'node node weight'", count));
    }
  }
  if (stored.edges.empty()) throw RequestError("it has no edges");
  if (stored.nodes == 0) stored.nodes = nodes_named(stored.edges);
  return {stored};
}

}  // namespace veche
