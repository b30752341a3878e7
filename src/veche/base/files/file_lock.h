#pragma once

#include <filesystem>
#include <string>

namespace veche {

// A file that one holds at a time. It is held by the open file, so the hold ends with the process however
// that ends, and a file that a killed one has left hinders nobody.
class FileLock {
 public:
  enum class Outcome { held, taken, unsupported };

  // Makes the file if need be, and writes into it who holds it. Never waits. Throws RunError when the file
  // cannot be opened.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  Outcome outcome() const { return outcome_; }
  // Taken: who has it, "process 17 on host", empty when that is not known. Unsupported: the reason, some
  // network file systems have no locks.
  const std::string& why() const { return why_; }

 private:
  const int descriptor_;
  Outcome outcome_ = Outcome::held;
  std::string why_;
};

}  // namespace veche
