#include <algorithm>
#include <fstream>

#include "veche/data/formats/archive/archive.h"
#include "veche/data/formats/idx.h"
#include "veche/data/formats/npy_names.h"
#include "veche/data/formats/pack/index.h"
#include "veche/data/sets/open.h"
#include "veche/data/table/open_table.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

bool is_archive(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> first(512);
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  return looks_like_archive(
      {reinterpret_cast<const std::uint8_t*>(first.data()), static_cast<std::size_t>(in.gcount())});
}

bool is_archive_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.find(".tar") != name.npos || name.ends_with(".tgz");
}

}  // namespace

std::vector<fs::path> find_archives(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
    if (entry.is_regular_file(error) && is_archive_name(entry.path()) && is_archive(entry.path()))
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string describe(Kind kind) {
  switch (kind) {
    case Kind::idx:
      return "IDX files";
    case Kind::cifar10:
      return "CIFAR-10's binary files";
    case Kind::cifar100:
      return "CIFAR-100's binary files";
    case Kind::npy:
      return "NumPy arrays";
    case Kind::packed:
      return "a packed set";
    case Kind::archive:
      return "tar archives";
    case Kind::table:
      return "a table";
    case Kind::images:
      break;
  }
  return "a folder of images";
}

std::optional<Kind> recognise(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error) && is_table_name(path)) return Kind::table;
  if (fs::is_regular_file(path, error)) return is_archive(path) ? std::optional(Kind::archive) : std::nullopt;
  if (!fs::is_directory(path, error)) return std::nullopt;
  if (fs::exists(path / kPackedIndexName, error)) return Kind::packed;
  // One of the four files is enough: the message then names the missing ones.
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"})
    if (find_idx(path, name)) return Kind::idx;
  if (find_cifar(path, Kind::cifar10)) return Kind::cifar10;
  if (find_cifar(path, Kind::cifar100)) return Kind::cifar100;
  if (find_npy(path)) return Kind::npy;
  if (!find_archives(path).empty()) return Kind::archive;
  const auto has_folders =
      std::ranges::any_of(fs::directory_iterator(path, error), [](const fs::directory_entry& entry) {
        std::error_code ignored;
        return entry.is_directory(ignored);
      });
  return has_folders ? std::optional(Kind::images) : std::nullopt;
}

}  // namespace veche
