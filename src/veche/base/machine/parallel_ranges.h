#pragma once

#include <cstddef>
#include <functional>

namespace veche {

// work(from, to) for parts of [0, length) that cover it, each by another of so many threads, the calling one
// among them; returns when all are done. The parts begin at whole vector registers, and there are fewer where
// there is little to do; which they are depends on length and threads alone. The threads are those of OpenMP,
// which libtorch uses too: further ones would only wait for a core. `work` does not throw.
void parallel_ranges(int threads, std::size_t length,
                     const std::function<void(std::size_t from, std::size_t to)>& work);

}  // namespace veche
