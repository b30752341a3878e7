#pragma once

#include <cstddef>
#include <functional>

namespace veche {

// Calls work(from, to) for parts that cover [0, length), each on a different one of `threads`
// threads, including the caller's; returns when all are done. Parts begin at whole vector
// registers. Short ranges use fewer parts. The parts depend only on length and threads. The threads
// are OpenMP's, which libtorch uses too; extra threads would only compete for cores. `work` must
// not throw.
void parallel_ranges(int threads, std::size_t length,
                     const std::function<void(std::size_t from, std::size_t to)>& work);

}  // namespace veche
