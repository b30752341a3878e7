#pragma once

#include <vector>

#include "bench/bench.h"
#include "bench/load/small_files.h"

namespace veche {

// Images per second that one thread makes ready for training, read at random, moved, flipped and normalised:
// from a packed set, decoded and as JPEG files, beside PyTorch's DataLoader with one worker on the same
// images, and beside what one core trains with resnet20. Throws RunError when the two sides' images differ.
std::vector<BenchCase> bench_prepare(const SmallFiles& files, const BenchOptions& options);

}  // namespace veche
