#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/source.h"

namespace veche {

// What the literature says of a set that data.name may choose.
struct KnownSet {
  std::string name;
  std::string what;           // for people
  std::string system_folder;  // where a package of the system puts it; empty: nowhere
  std::string if_missing;     // what to do
  Shape shape;
  int classes = 0;
  Normalization normalization;
  std::string augment = "none";
  // What its files do not say and people call its classes; empty: they are but numbers, or the files do.
  std::vector<std::string> class_names = {};
};

const std::vector<KnownSet>& known_sets();  // without `synthetic`, which is made up

// Of a set of this name; empty: it is not known, or has none.
std::vector<std::string> usual_class_names(const std::string& set);

// Where open_data looks for a set when data.path does not say: `folder` is the key data.folder.
std::vector<std::string> places_of(const KnownSet& set, const std::string& folder);

// A set under another name, known by the names of its classes and the shape of its images.
const KnownSet* look_alike(const std::vector<std::string>& classes, const Shape& shape);

DataSource open_synthetic(const Options& options, std::uint64_t seed);

}  // namespace veche
