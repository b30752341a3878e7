#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace veche {

struct FolderFiles {
  std::vector<std::string> files, folders;  // paths with '/', relative to the folder, in no order
};

// Everything below a folder, without hidden names, pipes and devices. Links to folders are followed, since
// large sets are often linked together. A link that leads back to a folder around it is left out, and
// `notice` gets a sentence about it. Throws RequestError: a folder cannot be read, or links multiply it
// without end.
FolderFiles files_below(const std::filesystem::path& folder,
                        const std::function<void(const std::string&)>& notice);

}  // namespace veche
