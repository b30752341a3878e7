#include "bench/python/workshop.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bench/cluster/program.h"

namespace veche {

extern const char kPythonLoops[];  // the models of step/peer.py, the data of cluster/ddp.py, and loops.py

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

}  // namespace

Workshop::Workshop(const BenchOptions& options)
    : python_(options.python.empty() ? VECHE_PYTHON : options.python),
      folder_(fs::temp_directory_path() / ("veche-bench-python-" + std::to_string(getpid()))) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "loops.py") << kPythonLoops;
  // The package of the build tree, if this program is there.
  const fs::path package = fs::path(own_path()).parent_path().parent_path() / "python";
  if (!fs::exists(package / "veche")) return;
  const char* const before = std::getenv("PYTHONPATH");
  path_ = "PYTHONPATH=" + package.string() + (before != nullptr ? ":" + std::string(before) : "");
}

Workshop::~Workshop() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Words Workshop::environment(const Json& request) const {
  Words environment{"REQUEST=" + request.dump(), "TMPDIR=" + folder_.string()};
  if (!path_.empty()) environment.push_back(path_);
  return environment;
}

Json Workshop::run(const Json& request, int ranks) const {
  Words words{python_};
  if (ranks > 1) words = joined(std::move(words), {"-m", "veche.launch", "-n", std::to_string(ranks)});
  words.push_back(file("loops.py"));
  return run_program(words, environment(request));
}

Json Workshop::run_with(Words launcher, const Json& request, int minutes) const {
  return run_program(joined(std::move(launcher), {python_, file("loops.py")}), environment(request), minutes);
}

}  // namespace veche
