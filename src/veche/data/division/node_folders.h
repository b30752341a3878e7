#pragma once

#include <cstdint>
#include <vector>

#include "veche/data/sets/source.h"

namespace veche {

// Separate data for each node, such as two organisations (data.partition = "folders").
struct NodeFolders {
  DataSource source;              // all samples, grouped by node
  std::vector<std::size_t> ends;  // end of each node's samples in the training set

  std::size_t owner(std::size_t sample) const;
};

// data.path is a list with one path per node, or a folder with one folder or file per node in
// natural order of the names. Each is opened on its own. Classes are matched by name if they have
// names, so an organisation may lack some. Throws RequestError naming the path if their number
// differs from the number of nodes, or if they do not fit together.
NodeFolders open_node_folders(const DataSettings& settings, std::uint64_t seed, int nodes,
                              OpenOptions how = {});

}  // namespace veche
