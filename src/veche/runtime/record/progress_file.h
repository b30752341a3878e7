#pragma once

#include <filesystem>

#include "veche/report.h"

namespace veche {

// progress.jsonl of a run's folder: how it goes, about twice a second, for those who watch from another
// process. Best effort: what cannot be written is not, and nobody hears of it, since the measurements of a
// run are elsewhere. A run that goes on from a checkpoint goes back in `step` here.
class ProgressFile {
 public:
  explicit ProgressFile(const std::filesystem::path& file);
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;

  void add(const Progress& progress);

 private:
  const int descriptor_;  // -1: it cannot be opened
};

}  // namespace veche
