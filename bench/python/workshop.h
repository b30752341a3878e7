#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/bench.h"
#include "bench/cluster/sides.h"

namespace veche {

// A folder for loops.py, which launchers start as a file, and for parameters to compare.
class Workshop {
 public:
  explicit Workshop(const BenchOptions& options);
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // What node 0 of loops.py has measured, with this many processes on this machine.
  nlohmann::json run(const nlohmann::json& request, int ranks = 1) const;
  // The same with a launcher's words before the program's.
  nlohmann::json run_with(Words launcher, const nlohmann::json& request, int minutes) const;

 private:
  Words environment(const nlohmann::json& request) const;

  const std::string python_;
  const std::filesystem::path folder_;
  std::string path_;
};

}  // namespace veche
