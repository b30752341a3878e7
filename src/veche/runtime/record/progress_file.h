#pragma once

#include <filesystem>

#include "veche/report.h"

namespace veche {

// progress.jsonl of a run's folder: progress about twice a second, for processes that watch the
// run. Best effort: what cannot be written is dropped silently, since the measurements of a run are
// in metrics.jsonl. In a resumed run `step` goes back to that of the checkpoint.
class ProgressFile {
 public:
  explicit ProgressFile(const std::filesystem::path& file);
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;

  void add(const Progress& progress, Task task);

 private:
  const int descriptor_;  // -1: it cannot be opened
};

}  // namespace veche
