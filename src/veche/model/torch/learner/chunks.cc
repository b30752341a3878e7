#include "veche/model/torch/learner/chunks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace veche::torch_model {
namespace {

constexpr std::size_t kPixels = 16384;
constexpr std::size_t kFewest = 8;
constexpr std::size_t kPixelsOfToken = 16;

}  // namespace

std::size_t samples_per_chunk(const Shape& shape, Task task, std::size_t samples) {
  // A token costs about as much memory as 16 pixels; of a long text one sample is enough.
  const bool text = task == Task::language;
  const std::size_t fewest = text ? 1 : kFewest;
  const auto pixels = text ? kPixelsOfToken * shape.size()
                           : static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  const std::size_t most = std::max(fewest, kPixels / std::max<std::size_t>(pixels, 1));
  if (samples <= most) return samples;
  for (std::size_t chunk = most; chunk >= std::max(fewest, text ? most / 2 : fewest); --chunk)
    if (samples % chunk == 0) return chunk;
  const std::size_t chunks = (samples + most - 1) / most;
  return (samples + chunks - 1) / chunks;
}

Score score_in_chunks(std::size_t samples, std::size_t chunk, int threads,
                      const std::function<Score(std::size_t from, std::size_t to)>& score) {
  struct Result {
    Score score;
    std::exception_ptr failure;
  };
  std::vector<Result> results((samples + chunk - 1) / chunk);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < results.size(); i = next++) {
      try {
        results[i].score = score(i * chunk, std::min((i + 1) * chunk, samples));
      } catch (...) {
        results[i].failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const auto most = std::min(static_cast<std::size_t>(std::max(threads, 1)), results.size());
    for (std::size_t i = 1; i < most; ++i) others.emplace_back(work);
    work();
  }
  Score total;
  for (const Result& result : results) {
    if (result.failure) std::rethrow_exception(result.failure);
    total += result.score;
  }
  return total;
}

}  // namespace veche::torch_model
