#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veche/graph/io/graph_file.h"

namespace veche {

// Maps the node names of GraphML, DOT and node-link files to numbers. If the names are exactly the
// numbers 0 to n-1, they are kept; otherwise nodes are numbered in order of first mention.
class NamedNodes {
 public:
  void mention(const std::string& name);
  // Sets the label shown to people. The default label is the name, unless the name is the number.
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
