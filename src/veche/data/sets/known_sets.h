#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/source.h"

namespace veche {

// Facts from the literature about a set that data.name may select.
struct KnownSet {
  std::string name;
  std::string what;           // description for people
  std::string system_folder;  // folder of the system package; empty: no package
  std::string if_missing;     // advice
  Shape shape;
  int classes = 0;
  Normalization normalization;
  std::string augment = "none";
  // Common names of its classes, if its files do not contain them; empty otherwise.
  std::vector<std::string> class_names = {};
};

const std::vector<KnownSet>& known_sets();  // without `synthetic`, which is generated

// Class names of the set with this name; empty if unknown.
std::vector<std::string> usual_class_names(const std::string& set);

// Where open_data searches for a set without data.path; `folder` is the key data.folder.
std::vector<std::string> places_of(const KnownSet& set, const std::string& folder);

// A known set with the same class names and image shape, under another name.
const KnownSet* similar_known_set(const std::vector<std::string>& classes, const Shape& shape);

DataSource open_synthetic(const DataSettings& settings, std::uint64_t seed);

}  // namespace veche
