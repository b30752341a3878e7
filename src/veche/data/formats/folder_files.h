#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace veche {

struct FolderFiles {
  std::vector<std::string> files, folders;  // paths with '/', relative to the folder, unordered
};

// Lists everything below a folder, without hidden names, pipes and devices. Follows links to
// folders, since large sets are often linked together. A link back to an enclosing folder is
// skipped, and `notice` gets a sentence about it. Throws RequestError if a folder cannot be read or
// links multiply endlessly.
FolderFiles files_below(const std::filesystem::path& folder,
                        const std::function<void(const std::string&)>& notice);

}  // namespace veche
