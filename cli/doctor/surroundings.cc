#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "cli/doctor/findings.h"
#include "veche/data/sets/known_sets.h"

namespace veche::cli {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

// The first program of this name that PATH finds.
std::optional<fs::path> find_program(const std::string& name) {
  const char* folders = std::getenv("PATH");
  std::istringstream path(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(path, folder, ':');) {
    std::error_code ignored;
    const fs::path file = fs::path(folder) / name;
    const fs::perms some = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    if (fs::is_regular_file(file, ignored) &&
        (fs::status(file, ignored).permissions() & some) != fs::perms::none)
      return file;
  }
  return std::nullopt;
}

Finding check_program(const std::string& name, const std::string& what, const std::string& package) {
  if (const auto found = find_program(name)) return {.what = what, .detail = found->string()};
  return {.what = what,
          .state = State::missing,
          .detail = "no " + name + " on PATH",
          .remedy = "install " + package};
}

// What a command prints on standard output; none: it failed.
std::optional<std::string> output_of(const char* command) {
  FILE* const pipe = ::popen(command, "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  for (int sign = 0; (sign = std::fgetc(pipe)) != EOF;) text += static_cast<char>(sign);
  if (::pclose(pipe) != 0) return std::nullopt;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Finding check_python() {
  Finding finding{.what = "package for Python"};
  const char* const kAsk =
      "python3 -B -c 'import veche; print(\"veche\", veche.__version__, \"in\", veche.__path__[0])' "
      "2>/dev/null";
  if (const auto told = output_of(kAsk)) {
    finding.detail = *told;
    return finding;
  }
  finding.state = State::missing;
  finding.detail = "python3 does not find it";
  finding.remedy = "install python3-veche (`make package` makes it), or run `pip install .` in the source";
  return finding;
}

Finding check_demo_images() {
  const KnownSet& demo = known_sets().front();
  Finding finding{.what = "images of the demo"};
  std::error_code ignored;
  for (const fs::path& folder : {fs::path(demo.system_folder), fs::path("data") / demo.name})
    if (fs::is_directory(folder, ignored)) {
      finding.detail = folder.string();
      return finding;
    }
  finding.state = State::missing;
  finding.detail = demo.name + " is in neither " + demo.system_folder + " nor data/";
  finding.remedy = demo.if_missing;
  return finding;
}

}  // namespace

std::vector<Finding> check_surroundings() {
  return {check_program("mpirun.openmpi", "jobs of Open MPI", "openmpi-bin"),
          check_program("mpirun.mpich", "jobs of MPICH", "mpich"),
          check_program("srun", "jobs of Slurm", "slurm-client"), check_python(), check_demo_images()};
}

}  // namespace veche::cli
