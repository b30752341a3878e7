#include "veche/runtime/record/provisional_folder.h"

#include <fmt/format.h>

#include <cctype>

#include "veche/base/files/files.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> missing_folders(fs::path folder) {
  std::vector<fs::path> missing;
  for (std::error_code ignored; !folder.empty() && !fs::exists(folder, ignored);
       folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

// A name with the characters that may be part of a folder's name.
std::string as_folder_name(std::string name) {
  for (char& sign : name)
    if (std::isalnum(static_cast<unsigned char>(sign)) == 0 && sign != '.' && sign != '_') sign = '-';
  return name.empty() || name.front() == '.' ? "member" + name : name;
}

}  // namespace

ProvisionalFolder::ProvisionalFolder(const Settings& settings)
    : missing_(missing_folders(settings.run.out)), folder_(RunFolder::create(settings)) {}

ProvisionalFolder::~ProvisionalFolder() {
  std::error_code ignored;
  if (kept_) return;
  fs::remove_all(folder_.path(), ignored);
  for (const fs::path& made : missing_) fs::remove(made, ignored);
}

void ProvisionalFolder::keep(Settings settings) {
  settings.run.name = folder_.name();
  write_file(folder_.config(), settings.to_toml());
  kept_ = true;
}

std::unique_ptr<ProvisionalFolder> make_member_folder(Settings settings, const std::string& run,
                                                      const std::string& member) {
  if (settings.run.name || run.empty()) return std::make_unique<ProvisionalFolder>(settings);
  const fs::path out = settings.run.out;
  const std::string name = as_folder_name(run), with_member = name + "-" + as_folder_name(member);
  for (int attempt = 0;; ++attempt) {
    const std::string wanted = attempt == 0   ? name
                               : attempt == 1 ? with_member
                                              : fmt::format("{}-{}", with_member, attempt);
    if (fs::exists(out / wanted)) continue;
    settings.run.name = wanted;
    try {
      return std::make_unique<ProvisionalFolder>(settings);
    } catch (const RequestError&) {
      if (!fs::exists(out / wanted)) throw;  // else another member was quicker
    }
  }
}

}  // namespace veche
