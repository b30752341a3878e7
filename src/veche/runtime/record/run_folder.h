#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "veche/base/files/file_lock.h"
#include "veche/config.h"

namespace veche {

// runs/NAME/: all that a run leaves. Made only when everything else about the run has been found right. Who
// trains holds the folder's lock, in every copy of this, until it ends.
class RunFolder {
 public:
  using Notice = std::function<void(const std::string& sentence)>;

  // A new folder with the resolved configuration in it. Refuses a name that is taken; makes one up when there
  // is none. What fails leaves no folder.
  static RunFolder create(const Settings& settings, const Notice& notice = {});
  // One that exists, to go on with. Refuses one in which somebody trains, or in which something has the place
  // of the run's files.
  static RunFolder resume(const std::filesystem::path& path, const Notice& notice = {});
  // One that exists, to read; somebody may be training in it.
  static RunFolder open(const std::filesystem::path& path);

  // Puts all that the run has left, but for its configuration, into a new folder aside-N in this one, which
  // is returned, and is a new run from now on. Only for who holds the lock.
  std::filesystem::path put_aside();

  // Which run this is, whatever its folder is called and wherever it was copied to. 0: unknown, as in folders
  // of earlier versions.
  std::uint64_t id() const { return id_; }
  // Where it is unknown the folder gets `found`, the id that its checkpoints carry, or a new one if that is
  // 0.
  void settle_id(std::uint64_t found);

  const std::filesystem::path& path() const { return path_; }
  std::string name() const { return path_.filename().string(); }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path progress() const { return path_ / "progress.jsonl"; }
  std::filesystem::path nodes() const { return path_ / "nodes.json"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoint"; }
  std::filesystem::path trace() const { return path_ / "trace.json"; }
  std::filesystem::path layout() const { return path_ / "layout.json"; }
  std::filesystem::path lock() const { return path_ / "lock"; }
  std::filesystem::path id_file() const { return path_ / "id"; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  // Tells whether it is ours now; where there are no locks nobody else is assumed.
  bool take(const Notice& notice);

  std::filesystem::path path_;
  std::uint64_t id_ = 0;
  std::shared_ptr<const FileLock> lock_;  // none: only to read
};

}  // namespace veche
