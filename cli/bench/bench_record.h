#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "veche/base/files/append_file.h"

namespace veche::cli {

// A case as `--json` and `--record` print it.
nlohmann::ordered_json to_json(const BenchCase& result);

// A file of measurements, one JSON object per line: the machine, the date, the instruction set and
// the cases of one command, each with the name of its bench. scripts/benchmarks-page makes the page
// from it.
class BenchRecord {
 public:
  // Throws RequestError, before anything is measured, if the file cannot be written.
  explicit BenchRecord(const std::filesystem::path& file);
  void add(const std::string& bench, const BenchCase& result);
  // Appends the line. Throws RunError if it cannot.
  void write(bool quick);

 private:
  std::optional<AppendFile> file_;
  nlohmann::ordered_json cases_ = nlohmann::ordered_json::array();
};

}  // namespace veche::cli
