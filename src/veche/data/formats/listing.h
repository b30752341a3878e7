#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "veche/data/sets/damage.h"

namespace veche {

// Which files are samples of which class, in the training and in the test set. A file is a number: its place
// in the list that the listing was made from.
struct Listing {
  struct Item {
    std::uint32_t file = 0;
    std::uint32_t label = 0;
  };
  std::vector<std::string> classes;  // by label, in the order of their names
  std::vector<Item> train, test;     // in the order of the files' names
};

// The files of a folder or of an archive: paths with '/', relative to where the set begins.
struct Files {
  std::string place;  // what messages call it
  std::vector<std::string> paths;
  std::function<std::string(std::size_t file)> text;  // the content of a small file
};

// Understands, with or without a folder around it all:
//   train/CLASS/.../NAME.jpg and val/CLASS/... or test/CLASS/...   ImageNet and most others
//   val/images/NAME.jpg with val/val_annotations.txt               Tiny ImageNet
//   CLASS/.../NAME.jpg                                             every tenth of a class becomes a test
//   sample
// `val` is preferred to `test`, which in some sets has no labels. Other files than .jpg, .jpeg and .png are
// left alone. Throws RequestError: no images, one class, a class in the test set only. To `policy` go: an
// empty class, an image without a label, a label without an image, pictures in folders whose format is not
// read (GIF, WebP). `folders`: paths that are folders, for a class may be empty.
Listing list_by_class(const Files& files, const std::vector<std::string>& folders,
                      const DamagePolicy& policy);

// WebDataset: consecutive files that differ only in what follows the first dot of their names are one sample:
// an image and KEY.cls, which holds the number of its class. The shards with `val` or `test` in their names
// are the test set; without such, every tenth sample of a class is.
bool is_webdataset(const Files& files);
Listing list_webdataset(const Files& files, const DamagePolicy& policy);

bool is_image_name(std::string_view path);

// For sets that come in one part: every tenth sample of each class goes to the test set.
void hold_out_tenth(Listing& listing);

}  // namespace veche
