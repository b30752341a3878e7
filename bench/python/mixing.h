#pragma once

#include <cstddef>

namespace veche {

// Seconds of one exchange of `floats` floats with both neighbours on a ring, as veche.comm.mix_
// makes it, by this many processes of this program without Python. Throws RunError if a process
// fails or the result is wrong.
double seconds_of_mixing(int ranks, std::size_t floats, int repeats);

}  // namespace veche
