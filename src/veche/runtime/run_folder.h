#pragma once

#include <filesystem>
#include <string>

#include "veche/runtime/config.h"

namespace veche {

// runs/NAME/: all that a run leaves. Made only when everything else about the run has been found right.
class RunFolder {
 public:
  // A new folder with the resolved configuration in it. Refuses a name that is taken; makes one up when there
  // is none.
  static RunFolder create(const Settings& settings);
  // One that exists, to resume.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::string name() const { return path_.filename().string(); }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoint"; }
  std::filesystem::path layout() const { return path_ / "layout.json"; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace veche
