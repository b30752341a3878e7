#pragma once

#include <cstddef>
#include <functional>

#include "veche/batch.h"

namespace veche::torch_model {

// The sum of the scores of [0, samples) in pieces of so many, the last one perhaps smaller. Pieces are scored
// by up to so many threads, the calling one among them, and added up in their order: the sum does not depend
// on the threads. Passes on what `score` throws, of the first piece that did.
Score score_in_pieces(std::size_t samples, std::size_t piece, int threads,
                      const std::function<Score(std::size_t from, std::size_t to)>& score);

// How many of so many images make a piece: few enough to keep what passes from layer to layer in a core's
// caches, not so few that weights are read for nothing, and equal pieces where that can be.
std::size_t images_in_a_piece(const Shape& image, std::size_t images);

// The samples [from, to) of a batch.
inline Batch part_of(const Batch& batch, std::size_t from, std::size_t to) {
  return {batch.images.subspan(from * batch.shape.size(), (to - from) * batch.shape.size()),
          batch.labels.subspan(from, to - from), batch.shape, batch.step};
}

}  // namespace veche::torch_model
