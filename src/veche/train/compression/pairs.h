#pragma once

#include "veche/train/compression/compression.h"

namespace veche {

// Throws RequestError with the reason and the nearest pair of strategy and codec that works.
void check_pair(const Compression& compression, const CompressSettings& compress, const CompressedRun& run);

}  // namespace veche
