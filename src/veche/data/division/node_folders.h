#pragma once

#include <cstdint>
#include <vector>

#include "veche/data/sets/source.h"

namespace veche {

// The data of nodes that each have their own, such as two organisations: what data.partition = "folders"
// means.
struct NodeFolders {
  DataSource source;              // all of them, one node's samples after another's
  std::vector<std::size_t> ends;  // of each node's samples in the training set

  std::size_t owner(std::size_t sample) const;
};

// data.path is a list of one path a node, or a folder with one folder (or file) a node, taken in the order of
// their names, numbers by their value. Each is opened as if it were alone. Classes with names are told apart
// by them, so that an organisation may lack some. Throws RequestError naming the path when there are not as
// many as nodes, or they do not fit together.
NodeFolders open_node_folders(const Options& options, std::uint64_t seed, int nodes, OpenHow how = {});

}  // namespace veche
