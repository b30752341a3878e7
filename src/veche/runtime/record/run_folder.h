#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "veche/base/files/file_lock.h"
#include "veche/config.h"

namespace veche {

// runs/NAME/: everything that a run keeps. It is made only after everything else about the run has
// been checked. The process that trains holds the folder's lock through every copy of this object.
class RunFolder {
 public:
  using Notice = std::function<void(const std::string& sentence)>;

  // Makes a new folder and writes the resolved configuration. Refuses a name that is taken; without
  // run.name it makes one up. A failure leaves no folder.
  static RunFolder create(const Settings& settings, const Notice& notice = {});
  // The path of the folder that `create` would make now. Writes nothing; refuses what `create`
  // refuses.
  static std::filesystem::path planned(const Settings& settings);
  // An existing folder, to train in. Refuses a folder in which another process trains, or in which
  // something else has the place of a run's file.
  static RunFolder resume(const std::filesystem::path& path, const Notice& notice = {});
  // An existing folder, to read. Another process may be training in it.
  static RunFolder open(const std::filesystem::path& path);

  // Moves everything but the configuration into a new folder aside-N in this one, and returns that.
  // From now on this is a new run. Needs the lock.
  std::filesystem::path put_aside();

  // Identifies the run, also after its folder was renamed or copied. 0: unknown, as in folders of
  // earlier versions.
  std::uint64_t id() const { return id_; }
  // Sets an unknown id: to `found`, which its checkpoints contain, or to a new one where that is 0.
  void settle_id(std::uint64_t found);

  const std::filesystem::path& path() const { return path_; }
  std::string name() const { return path_.filename().string(); }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path progress() const { return path_ / "progress.jsonl"; }
  std::filesystem::path nodes() const { return path_ / "nodes.json"; }
  std::filesystem::path samples() const { return path_ / "samples.jsonl"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoint"; }
  std::filesystem::path trace() const { return path_ / "trace.json"; }
  std::filesystem::path layout() const { return path_ / "layout.json"; }
  std::filesystem::path lock() const { return path_ / "lock"; }
  std::filesystem::path id_file() const { return path_ / "id"; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  // Takes the lock and returns whether this process may train here. A file system without locks is
  // taken to be free.
  bool take(const Notice& notice);

  std::filesystem::path path_;
  std::uint64_t id_ = 0;
  std::shared_ptr<const FileLock> lock_;  // none: the folder is only read
};

}  // namespace veche
