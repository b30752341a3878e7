#pragma once

#include <string>

namespace veche {

// The member of a grid that a node belongs to.
struct NodeMember {
  std::string id;    // the first eight digits
  std::string name;  // for people: grid.name
};

}  // namespace veche
