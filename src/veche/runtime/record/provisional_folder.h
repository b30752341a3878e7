#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/runtime/record/run_folder.h"

namespace veche {

// The folder of a run that may not come about. Unless it is kept, the folder is removed, and so are
// the folders above it that were made for it.
class ProvisionalFolder {
 public:
  explicit ProvisionalFolder(const Settings& settings);
  ~ProvisionalFolder();
  ProvisionalFolder(const ProvisionalFolder&) = delete;
  ProvisionalFolder& operator=(const ProvisionalFolder&) = delete;

  const RunFolder& operator*() const { return folder_; }
  // The run has come about, with these settings.
  void keep(Settings settings);

 private:
  const std::vector<std::filesystem::path> missing_;  // the innermost first
  const RunFolder folder_;
  bool kept_ = false;
};

// The folder of a member that joins the run called `run`. Unless the settings name it, it gets the
// name of the run; where another member on this machine has that one, `member` follows.
std::unique_ptr<ProvisionalFolder> make_member_folder(Settings settings, const std::string& run,
                                                      const std::string& member);

}  // namespace veche
