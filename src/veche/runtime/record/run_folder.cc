#include "veche/runtime/record/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <random>
#include <vector>

#include "veche/base/files/files.h"
#include "veche/base/files/read_text.h"
#include "veche/errors.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAside = "aside-";

// Such as "consensus-ring-20261115-203000".
std::string made_up_name(const Settings& settings) {
  std::string name = settings.strategy.name;
  if (find_strategy(name).uses_topology()) {
    const auto graph = settings.topology.graph;
    name += "-" + graph.substr(0, graph.find(':'));
  }
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(now));
}

// run.name, or a made-up one.
std::string wanted_name(const Settings& settings) {
  std::string wanted = settings.run.name ? *settings.run.name : made_up_name(settings);
  if (const fs::path name(wanted); name.empty() || name.filename() != name || wanted == "." || wanted == "..")
    throw RequestError(
        fmt::format("run.name = \"{}\" is not the name of a folder; where it lies is run.out", wanted));
  return wanted;
}

std::uint64_t new_id() {
  std::random_device random;
  std::uint64_t id = 0;
  while (id == 0) id = std::uint64_t{random()} << 32 | random();
  return id;
}

// The file holds 16 hexadecimal digits and a line end.
std::uint64_t read_id(const fs::path& file) {
  constexpr std::size_t kDigits = 16;
  std::error_code unknown;
  if (fs::status(file, unknown).type() == fs::file_type::not_found) return 0;
  const std::string text = read_text(file, file.string(), 1 << 10);
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc() || end != text.data() + kDigits || id == 0)
    throw RequestError(
        fmt::format("{} is damaged: it holds the 16 hexadecimal digits of the run's id; remove it, and the "
                    "checkpoints tell",
                    file.string()));
  return id;
}

void write_id(const fs::path& file, std::uint64_t id) { write_file(file, fmt::format("{:016x}\n", id)); }

// Folders made for a new run; removed unless kept.
class NewFolders {
 public:
  // Returns whether it is new.
  bool make(const fs::path& folder) {
    if (!make_folder_durably(folder)) return false;
    made_.push_back(folder);
    return true;
  }
  void make_with_parents(const fs::path& folder) {
    if (folder.empty() || fs::is_directory(folder)) return;
    make_with_parents(folder.parent_path());
    make(folder);
  }
  void keep() { made_.clear(); }

  ~NewFolders() {
    std::error_code ignored;  // others may have put something in
    for (; !made_.empty(); made_.pop_back()) fs::remove(made_.back(), ignored);
  }

 private:
  std::vector<fs::path> made_;
};

// Whether a folder holds nothing but what a run leaves that was killed while it made the folder.
bool was_never_a_run(const RunFolder& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.path(), error))
    if (entry.path() != folder.lock() && entry.path() != folder.id_file() &&
        entry.path() != folder.id_file().string() + ".new" &&
        entry.path() != folder.config().string() + ".new")
      return false;
  if (error) throw RunError(cannot_be(folder.path(), "read", error.value()));
  return true;
}

[[noreturn]] void refuse_taken(const RunFolder& folder) {
  throw RequestError(
      fmt::format("run.name = \"{}\" is taken by {}; choose another, or continue it with "
                  "`veche train --resume {}`",
                  folder.name(), folder.path().string(), folder.path().string()));
}

// Checks now what would otherwise fail in the middle of training.
void check_places(const RunFolder& folder) {
  for (const fs::path& file : {folder.metrics(), folder.progress(), folder.nodes(), folder.samples(),
                               folder.summary(), folder.layout()})
    place_of(file);
  if (fs::exists(folder.checkpoints()) && !fs::is_directory(folder.checkpoints()))
    throw RequestError(folder.checkpoints().string() + " is not a folder, which a run keeps its models in");
}

}  // namespace

bool RunFolder::take(const Notice& notice) {
  const auto lock = std::make_shared<const FileLock>(this->lock());
  if (lock->outcome() == FileLock::Outcome::unsupported && notice)
    notice(fmt::format("{} cannot be locked ({}): make sure that only one program trains in it",
                       path_.string(), lock->why()));
  lock_ = lock;
  return lock->outcome() != FileLock::Outcome::taken;
}

fs::path RunFolder::planned(const Settings& settings) {
  const fs::path wanted = fs::path(settings.run.out) / wanted_name(settings);
  const auto is_free = [](const fs::path& path) {
    std::error_code unknown;
    return fs::status(path, unknown).type() == fs::file_type::not_found || was_never_a_run(RunFolder(path));
  };
  fs::path path = wanted;
  for (int attempt = 2; !is_free(path); ++attempt) {
    if (settings.run.name) refuse_taken(RunFolder(path));
    path = wanted.string() + fmt::format("-{}", attempt);
  }
  return path;
}

RunFolder RunFolder::create(const Settings& settings, const Notice& notice) {
  const fs::path out = settings.run.out;
  const bool named = settings.run.name.has_value();
  const std::string wanted = wanted_name(settings);
  NewFolders made;
  try {
    made.make_with_parents(out);
  } catch (const RunError& error) {
    throw RequestError(fmt::format("run.out = \"{}\" cannot be used: {}", out.string(), error.what()));
  }
  RunFolder folder(out / wanted);
  bool own_making = false;
  const auto ours = [&] {
    own_making = made.make(folder.path());
    if (!own_making && !was_never_a_run(folder)) return false;
    // Another process may have taken the folder since the first check: hence the second one.
    return folder.take(notice) && was_never_a_run(folder) &&
           (own_making || folder.lock_->outcome() == FileLock::Outcome::held);
  };
  try {
    for (int attempt = 2; !ours(); ++attempt) {
      if (named) refuse_taken(folder);
      folder = RunFolder(out / fmt::format("{}-{}", wanted, attempt));
    }
  } catch (const RunError& error) {
    std::error_code ignored;
    if (own_making) fs::remove(folder.lock(), ignored);
    throw RequestError(fmt::format("the run's folder cannot be made: {}", error.what()));
  }
  Settings complete = settings;
  complete.run.name = folder.name();
  folder.id_ = new_id();
  try {
    write_id(folder.id_file(), folder.id_);
    write_file(folder.config(), complete.to_toml());
  } catch (...) {
    std::error_code ignored;
    fs::remove(folder.id_file(), ignored);
    fs::remove(folder.lock(), ignored);
    throw;
  }
  made.keep();
  return folder;
}

RunFolder RunFolder::resume(const fs::path& path, const Notice& notice) {
  RunFolder folder = open(path);
  check_places(folder);
  try {
    if (folder.take(notice)) return folder;
  } catch (const RunError& error) {
    throw RequestError(
        fmt::format("the run cannot continue in {}: {}", folder.path().string(), error.what()));
  }
  throw RequestError(fmt::format("{} is being trained by {}: wait until it has ended, or stop it",
                                 folder.path().string(),
                                 folder.lock_->why().empty() ? "another program" : folder.lock_->why()));
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(fs::path(path / "").parent_path());
  std::error_code error;
  if (!fs::exists(folder.config(), error))
    throw RequestError(
        fmt::format("{} is not a run's folder: it has no config.toml", folder.path().string()));
  folder.id_ = read_id(folder.id_file());
  return folder;
}

void RunFolder::settle_id(std::uint64_t found) {
  if (id_ != 0) return;
  id_ = found != 0 ? found : new_id();
  write_id(id_file(), id_);
}

// The checkpoints go last: a process killed before that is refused again, and nothing is lost.
fs::path RunFolder::put_aside() {
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const fs::path& file = entry.path();
    if (file != config() && file != lock() && file != checkpoints() &&
        !file.filename().string().starts_with(kAside))
      left.push_back(file);
  }
  if (fs::exists(fs::symlink_status(checkpoints()))) left.push_back(checkpoints());
  fs::path aside;
  for (int i = 1; aside.empty() || !make_folder_durably(aside); ++i)
    aside = path_ / fmt::format("{}{}", kAside, i);
  for (const fs::path& file : left) rename_durably(file, aside / file.filename());
  id_ = 0;
  settle_id(0);
  return aside;
}

}  // namespace veche
