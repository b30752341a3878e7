#pragma once

#include <cstdint>
#include <string_view>

#include "veche/data/sets/image_set.h"

namespace veche {

struct SyntheticOptions {
  Shape shape{1, 28, 28};
  std::size_t samples = 2000;
  int classes = 10;
  double noise = 1;  // amplitude relative to the class image, which has 1
};

// A learnable set that needs no files: a smooth random image per class, plus noise. Class images
// depend on the seed; a sample depends on the seed, `split` and its index, not on the number of
// samples. Sample i has class i modulo `classes`.
Samples make_synthetic(const SyntheticOptions& options, std::string_view split, std::uint64_t seed);

// Normalises such samples to mean 0 and deviation 1, for any noise.
Normalization synthetic_normalization();

}  // namespace veche
