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

// A file of measurements, one JSON object a line: the machine, the day, the instruction set and the cases of
// one command, each with the name of its bench. scripts/benchmarks-page makes the page of such a file.
class BenchRecord {
 public:
  // Throws RequestError when it cannot be written to: before anything is measured.
  explicit BenchRecord(const std::filesystem::path& file);
  void add(const std::string& bench, const BenchCase& result);
  // Appends the line. Throws RunError when it cannot.
  void write(bool quick);

 private:
  std::optional<AppendFile> file_;
  nlohmann::ordered_json cases_ = nlohmann::ordered_json::array();
};

}  // namespace veche::cli
