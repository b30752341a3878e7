#include "veche/data/sets/known_sets.h"

namespace veche {

const std::vector<KnownSet>& known_sets() {
  static const std::vector<KnownSet> sets = {
      {.name = "fashion-mnist",
       .what = "60,000 + 10,000 grey 28x28 pictures of clothes",
       .system_folder = "/usr/share/datasets/fashion-mnist",
       .if_missing =
           "install the Debian package dataset-fashion-mnist (scripts/setup does), run `veche data fetch "
           "fashion-mnist`, or set data.path to a folder with the four IDX files",
       .shape = {1, 28, 28},
       .classes = 10,
       .normalization = {.mean = {0.28604}, .deviation = {0.35302}},
       .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
                       "Bag", "Ankle boot"}},
      {.name = "mnist",
       .what = "60,000 + 10,000 grey 28x28 digits",
       .system_folder = {},
       .if_missing = "run `veche data fetch mnist`, or set data.path to a folder with the four IDX files",
       .shape = {1, 28, 28},
       .classes = 10,
       .normalization = {.mean = {0.1307}, .deviation = {0.3081}}},
      {.name = "cifar10",
       .what = "50,000 + 10,000 colour 32x32 photographs",
       .system_folder = {},
       .if_missing =
           "run `veche data fetch cifar10`, or set data.path to its binary files, images or a packed set",
       .shape = {3, 32, 32},
       .classes = 10,
       .normalization = {.mean = {0.4914, 0.4822, 0.4465}, .deviation = {0.2470, 0.2435, 0.2616}},
       .augment = "crop:4+flip"},
      {.name = "cifar100",
       .what = "50,000 + 10,000 colour 32x32 photographs",
       .system_folder = {},
       .if_missing =
           "run `veche data fetch cifar100`, or set data.path to its binary files, images or a packed set",
       .shape = {3, 32, 32},
       .classes = 100,
       .normalization = {.mean = {0.5071, 0.4865, 0.4409}, .deviation = {0.2673, 0.2564, 0.2762}},
       .augment = "crop:4+flip"},
  };
  return sets;
}

std::vector<std::string> usual_class_names(const std::string& name) {
  for (const KnownSet& set : known_sets())
    if (set.name == name) return set.class_names;
  return {};
}

std::vector<std::string> places_of(const KnownSet& set, const std::string& folder) {
  std::vector<std::string> places;
  if (!set.system_folder.empty()) places.push_back(set.system_folder);
  places.push_back(folder + "/" + set.name);
  return places;
}

const KnownSet* similar_known_set(const std::vector<std::string>& classes, const Shape& shape) {
  const std::vector<std::string> cifar10 = {"airplane", "automobile", "bird",  "cat",  "deer",
                                            "dog",      "frog",       "horse", "ship", "truck"};
  for (const KnownSet& set : known_sets())
    if (set.name == "cifar10" && shape == set.shape && classes == cifar10) return &set;
  return nullptr;
}

}  // namespace veche
