#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veche/graph/io/graph_file.h"

namespace veche {

// Turns the names that GraphML, DOT and node-link files give to nodes into numbers: names that are all the
// numbers 0 to n-1 keep them; otherwise nodes are numbered in the order of their first mention.
class NamedNodes {
 public:
  void mention(const std::string& name);
  // What people call the node. Nodes without a label go by their name, unless it is their number.
  void label(const std::string& name, std::string_view words);
  void link(const std::string& from, const std::string& to, std::optional<double> weight);
  StoredGraph finish(bool directed) const;

 private:
  struct Link {
    std::size_t from, to;
    std::optional<double> weight;
  };
  std::size_t place(const std::string& name);

  std::vector<std::string> labels(const std::optional<std::vector<int>>& numbers) const;

  std::vector<std::string> names_, labels_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<Link> links_;
};

}  // namespace veche
