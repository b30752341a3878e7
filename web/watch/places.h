#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche::web {

// The place of every node that a run ever had: its row, its point in the graph, its number in
// marks. The places of a grid belong to its members, so that a node keeps its place when others
// leave, and finds it again when it comes back. Without recorded members (a fixed set of nodes, a
// run of an earlier version) the place is the node's number.
class Places {
 public:
  // Of the nodes of one measurement or of nodes.json, in their order there. New members get new
  // places.
  std::vector<std::size_t> of(const nlohmann::json& nodes);
  std::size_t count() const { return count_; }
  // By place; empty without members. Members of the same name are told apart by their ids.
  std::vector<std::string> names() const;

 private:
  struct Owner {
    std::string id, name;
    int node = 0;  // among those of this member
  };
  std::map<std::pair<std::string, int>, std::size_t> of_member_;
  std::vector<Owner> owners_;
  std::size_t count_ = 0;
};

}  // namespace veche::web
