#include "veche/base/machine/parallel_ranges.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace veche {
namespace {

// elements; smaller ranges finish sooner than another thread starts
constexpr std::size_t kLeastRange = 65536;
constexpr std::size_t kRegister = 64;

}  // namespace

void parallel_ranges(int threads, std::size_t length,
                     const std::function<void(std::size_t from, std::size_t to)>& work) {
  const auto parts = static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), length / kLeastRange));
  if (parts <= 1) return work(0, length);
  const auto begin = [&](int part) {
    const std::size_t place = length * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
    return part == parts ? length : place / kRegister * kRegister;
  };
#if defined(__SANITIZE_THREAD__)
  // The thread sanitizer does not see how OpenMP's threads wait for each other.
  std::vector<std::jthread> others;
  for (int part = 1; part < parts; ++part)
    others.emplace_back([&, part] { work(begin(part), begin(part + 1)); });
  work(begin(0), begin(1));
#else
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) work(begin(part), begin(part + 1));
#endif
}

}  // namespace veche
