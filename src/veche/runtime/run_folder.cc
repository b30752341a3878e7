#include "veche/runtime/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "veche/base/errors.h"
#include "veche/base/files.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// "consensus-ring-20261115-203000": tells runs apart at a glance and sorts by time.
std::string made_up_name(const Settings& settings) {
  std::string name = settings.strategy.get<std::string>("name");
  if (find_strategy(name).uses_topology()) {
    const auto graph = settings.topology.get<std::string>("graph");
    name += "-" + graph.substr(0, graph.find(':'));
  }
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(now));
}

}  // namespace

RunFolder RunFolder::create(const Settings& settings) {
  const fs::path out = settings.run.get<std::string>("out");
  const bool named = settings.run.has("name");
  const std::string wanted = named ? settings.run.get<std::string>("name") : made_up_name(settings);
  if (const fs::path name(wanted); name.empty() || name.filename() != name || wanted == "." || wanted == "..")
    throw RequestError(
        fmt::format("run.name = \"{}\" is not the name of a folder; where it lies is run.out", wanted));
  std::error_code error;
  fs::create_directories(out, error);
  if (error)
    throw RequestError(fmt::format("run.out = \"{}\" cannot be made: {}", out.string(), error.message()));
  std::string name = wanted;
  for (int attempt = 2; !fs::create_directory(out / name, error); ++attempt) {
    if (error)
      throw RequestError(
          fmt::format("the run's folder {} cannot be made: {}", (out / name).string(), error.message()));
    if (named)
      throw RequestError(
          fmt::format("run.name = \"{}\" is taken by {}; choose another, or continue it with "
                      "`veche train --resume {}`",
                      name, (out / name).string(), (out / name).string()));
    name = fmt::format("{}-{}", wanted, attempt);
  }
  RunFolder folder(out / name);
  Settings complete = settings;
  complete.run.set("name", {name});
  write_file(folder.config(), complete.to_toml());
  return folder;
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(fs::path(path / "").parent_path());
  if (!fs::exists(folder.config()))
    throw RequestError(
        fmt::format("{} is not a run's folder: it has no config.toml", folder.path().string()));
  return folder;
}

}  // namespace veche
