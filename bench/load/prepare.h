#pragma once

#include <vector>

#include "bench/bench.h"
#include "bench/load/small_files.h"

namespace veche {

// Images per second that one thread prepares for training (random order, crop, flip, normalise)
// from a packed set, decoded and as JPEG files, beside PyTorch's DataLoader with one worker on the
// same images, and beside the training speed of resnet20 on one core. Throws RunError if the images
// of the two sides differ.
std::vector<BenchCase> bench_prepare(const SmallFiles& files, const BenchOptions& options);

}  // namespace veche
