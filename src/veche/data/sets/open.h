#pragma once

#include <filesystem>
#include <optional>

#include "veche/data/sets/image_set.h"
#include "veche/data/sets/source.h"

namespace veche {

// How open_data asks for one kind of files. What is not said is found out from the files.
struct OpenRequest {
  std::filesystem::path path;
  int size = 0;             // data.size: the side of the images wanted; 0: as they are
  int size_if_unequal = 0;  // OpenHow
  int processes = 1;        // OpenHow
  int classes = 0;          // how many there must be; 0: as many as there are
  std::optional<Normalization> normalization;
  DamagePolicy policy;
};

enum class Kind { idx, cifar10, cifar100, npy, packed, archive, images };

// What lies at a path, told by its files' names and first bytes. None: nothing that can be read.
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

// The folder with the files of CIFAR: the path itself, or the folder in it that the published archive has.
std::optional<std::filesystem::path> find_cifar(const std::filesystem::path& path, Kind kind);
// The archives that a path stands for: itself, or those in it, in the order of their names.
std::vector<std::filesystem::path> find_archives(const std::filesystem::path& path);

// Samples become a source; without a normalisation in the request it is measured.
DataSource from_memory(const OpenRequest& request, std::string kind, Samples train, Samples test,
                       std::vector<std::string> class_names);
// Of samples in one part, every tenth of a class becomes the test set.
std::pair<Samples, Samples> hold_out_tenth(Samples all);

// What the request says, else what is customary for a known set of these classes, else what was measured.
Normalization choose_normalization(const OpenRequest& request, const std::vector<std::string>& classes,
                                   const Shape& shape, const Normalization& measured);

}  // namespace veche
