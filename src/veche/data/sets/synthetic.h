#pragma once

#include <cstdint>
#include <string_view>

#include "veche/data/sets/image_set.h"

namespace veche {

struct SyntheticOptions {
  Shape shape{1, 28, 28};
  std::size_t samples = 2000;
  int classes = 10;
  double noise = 1;  // its strength beside that of the image of the class, which is 1
};

// A set that can be learned and needs no files: a smooth random image per class, and noise on it. The images
// of the classes are a function of the seed; a sample is one of the seed, `split` and its index, however many
// there are. Sample i is of class i modulo `classes`.
Samples make_synthetic(const SyntheticOptions& options, std::string_view split, std::uint64_t seed);

// What brings such samples to mean 0 and deviation 1, whatever the noise.
Normalization synthetic_normalization();

}  // namespace veche
