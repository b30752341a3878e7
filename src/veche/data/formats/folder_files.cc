#include "veche/data/formats/folder_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

using Identity = std::pair<dev_t, ino_t>;  // identifies a folder independently of the path to it

[[noreturn]] void refuse(const fs::path& folder, const std::error_code& why) {
  throw RequestError(fmt::format("the folder '{}' cannot be read ({})", folder.string(), why.message()));
}

Identity identity_of(const fs::path& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) refuse(folder, {errno, std::generic_category()});
  return {facts.st_dev, facts.st_ino};
}

class Walk {
 public:
  Walk(const fs::path& folder, const std::function<void(const std::string&)>& notice) : notice_(notice) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error) refuse(folder, error);
    // A link to an ancestor of the set would include everything beside the set.
    for (fs::path above = real; above.has_relative_path(); above = above.parent_path())
      around_.push_back(identity_of(above.parent_path()));
    visit(folder, "", identity_of(folder));
  }

  FolderFiles found() && { return std::move(found_); }

 private:
  void visit(const fs::path& folder, const std::string& below, const Identity& identity) {
    // Folders that link to each other may have more paths than a set has samples.
    constexpr int kMostPaths = 64;
    if (++paths_[identity] > kMostPaths)
      throw RequestError(
          fmt::format("the folder '{}' is reached by more than {} paths, since links lead to "
                      "folders with links: remove some of them",
                      folder.string(), kMostPaths));
    around_.push_back(identity);
    std::error_code error, ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.')) continue;
      if (entry.is_directory(ignored)) {
        enter(entry.path(), below + name);
      } else if (!fs::is_other(entry.status(ignored))) {  // opening a pipe would block
        found_.files.push_back(below + name);
      }
    }
    if (error) refuse(folder, error);
    around_.pop_back();
  }

  void enter(const fs::path& folder, const std::string& path) {
    const Identity identity = identity_of(folder);
    if (std::ranges::find(around_, identity) != around_.end())
      return notice_(
          fmt::format("the link '{}' leads back to a folder around it and is left out", folder.string()));
    found_.folders.push_back(path);
    visit(folder, path + "/", identity);
  }

  const std::function<void(const std::string&)>& notice_;
  std::vector<Identity> around_;  // the folders around the one being visited
  std::map<Identity, int> paths_;
  FolderFiles found_;
};

}  // namespace

FolderFiles files_below(const fs::path& folder, const std::function<void(const std::string&)>& notice) {
  return Walk(folder, notice).found();
}

}  // namespace veche
