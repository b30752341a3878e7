#pragma once

#include <filesystem>
#include <string>

namespace veche {

// An exclusive lock on a file. The lock belongs to the open file, so it ends with the process
// however the process ends. A file left by a killed process blocks nobody.
class FileLock {
 public:
  enum class Outcome { held, taken, unsupported };

  // Creates the file if necessary and writes the holder's identity into it. Never waits. Throws
  // RunError if the file cannot be opened.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  Outcome outcome() const { return outcome_; }
  // If taken: the holder, "process 17 on host"; empty if unknown. If unsupported: the reason, since
  // some network file systems have no locks.
  const std::string& why() const { return why_; }

 private:
  const int descriptor_;
  Outcome outcome_ = Outcome::held;
  std::string why_;
};

}  // namespace veche
