#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "veche/data/sets/damage.h"

namespace veche {

// The samples of each class in the training and the test set. A file is identified by its position
// in the list from which the listing was made.
struct Listing {
  struct Item {
    std::uint32_t file = 0;
    std::uint32_t label = 0;
  };
  std::vector<std::string> classes;  // by label, sorted by name
  std::vector<Item> train, test;     // sorted by file name
};

// The files of a folder or an archive: paths with '/', relative to the root of the set.
struct Files {
  std::string place;  // name for messages
  std::vector<std::string> paths;
  std::function<std::string(std::size_t file)> text;  // reads a small file
};

// Recognises these layouts, also inside one more folder:
//   train/CLASS/.../NAME.jpg and val/CLASS/... or test/CLASS/...   ImageNet and most others
//   val/images/NAME.jpg with val/val_annotations.txt               Tiny ImageNet
//   CLASS/.../NAME.jpg                                             every tenth sample for testing
// `val` is preferred to `test`, which has no labels in some sets. Files other than .jpg, .jpeg and
// .png are ignored. Throws RequestError: no images, only one class, a class in the test set only.
// Reports to `policy`: an empty class, an image without a label, a label without an image, images
// in folders in unsupported formats (GIF, WebP). `folders`: the paths that are folders, since a
// class may be empty.
Listing list_by_class(const Files& files, const std::vector<std::string>& folders,
                      const DamagePolicy& policy);

// WebDataset: consecutive files that differ only after the first dot of their names form one
// sample: an image and KEY.cls, which holds the number of its class. Shards with `val` or `test` in
// their names are the test set; without such shards, every tenth sample of a class is.
bool is_webdataset(const Files& files);
Listing list_webdataset(const Files& files, const DamagePolicy& policy);

bool is_image_name(std::string_view path);

// For sets without a test part: moves every tenth sample of each class to the test set.
void hold_out_tenth(Listing& listing);

}  // namespace veche
