#pragma once

#include <filesystem>
#include <optional>

#include "veche/data/sets/image_set.h"
#include "veche/data/sets/source.h"

namespace veche {

// A request to open files of one kind. Missing facts are derived from the files.
struct OpenRequest {
  std::filesystem::path path;
  int size = 0;             // data.size: the requested side of the images; 0: unchanged
  int size_if_unequal = 0;  // OpenOptions
  int processes = 1;        // OpenOptions
  int classes = 0;          // required number; 0: any
  std::optional<Normalization> normalization;
  DamagePolicy policy;
};

enum class Kind { idx, cifar10, cifar100, npy, packed, archive, images, table };

// The kind of data at a path, by file names and first bytes; nullopt if it cannot be read.
std::optional<Kind> recognise(const std::filesystem::path& path);

std::string describe(Kind kind);

// Each opens one kind and throws RequestError naming the file.
DataSource open_idx(const OpenRequest& request);
DataSource open_cifar10(const OpenRequest& request);
DataSource open_cifar100(const OpenRequest& request);
DataSource open_npy(const OpenRequest& request);
DataSource open_packed(const OpenRequest& request);
DataSource open_archive(const OpenRequest& request);
DataSource open_image_folder(const OpenRequest& request);

// The folder with the CIFAR files: the path itself, or the folder inside it that the published
// archive has.
std::optional<std::filesystem::path> find_cifar(const std::filesystem::path& path, Kind kind);
// The archives at a path: itself, or those in it, sorted by name.
std::vector<std::filesystem::path> find_archives(const std::filesystem::path& path);

// Makes a source from samples. Measures the normalisation unless the request gives one.
DataSource from_memory(const OpenRequest& request, std::string kind, Samples train, Samples test,
                       std::vector<std::string> class_names);
// For samples in one part: every tenth of a class becomes the test set.
std::pair<Samples, Samples> hold_out_tenth(Samples all);

// The request's normalisation, or the customary one for a known set with these classes, or the
// measured one.
Normalization choose_normalization(const OpenRequest& request, const std::vector<std::string>& classes,
                                   const Shape& shape, const Normalization& measured);

}  // namespace veche
