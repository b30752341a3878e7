#include <fmt/format.h>

#include <fstream>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/cifar.h"
#include "veche/data/sets/open.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

struct Cifar {
  const char* kind;
  const char* folder;  // in the published archive
  std::vector<const char*> train;
  const char* test;
  const char* names;  // file with one class name per line
  int classes;
  std::size_t label_bytes;
};

const Cifar& cifar(Kind kind) {
  static const Cifar ten{
      "CIFAR-10's binary files",
      "cifar-10-batches-bin",
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      "test_batch.bin",
      "batches.meta.txt",
      10,
      1};
  static const Cifar hundred{"CIFAR-100's binary files",
                             "cifar-100-binary",
                             {"train.bin"},
                             "test.bin",
                             "fine_label_names.txt",
                             100,
                             2};
  return kind == Kind::cifar10 ? ten : hundred;
}

std::vector<std::string> class_names(const fs::path& file, int classes) {
  std::ifstream in(file);
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) names.push_back(line);
  return names.size() == static_cast<std::size_t>(classes) ? names : std::vector<std::string>{};
}

DataSource open(const OpenRequest& request, Kind kind) {
  const Cifar& set = cifar(kind);
  const fs::path folder = find_cifar(request.path, kind).value_or(request.path);
  Samples train{.shape = {3, 32, 32}, .classes = set.classes, .planes = true};
  Samples test = train;
  const auto append = [&](const char* name, Samples& samples) {
    const auto file = std::make_shared<const MappedFile>(folder / name);
    samples.files.push_back(file);
    append_cifar(file->octets(), set.label_bytes, (folder / name).string(), request.policy, samples);
  };
  for (const char* name : set.train) append(name, train);
  append(set.test, test);
  if (train.labels.empty() || test.labels.empty())
    throw RequestError(fmt::format("the files of CIFAR in '{}' hold no samples", folder.string()));
  return from_memory(request, set.kind, std::move(train), std::move(test),
                     class_names(folder / set.names, set.classes));
}

}  // namespace

std::optional<fs::path> find_cifar(const fs::path& path, Kind kind) {
  const Cifar& set = cifar(kind);
  std::error_code error;
  for (const fs::path& folder : {path, path / set.folder})
    if (fs::exists(folder / set.train.front(), error)) return folder;
  return std::nullopt;
}

DataSource open_cifar10(const OpenRequest& request) { return open(request, Kind::cifar10); }
DataSource open_cifar100(const OpenRequest& request) { return open(request, Kind::cifar100); }

}  // namespace veche
