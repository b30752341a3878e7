#include "veche/compress/tensor_runs.h"

#include <algorithm>

namespace veche {

std::size_t floats_of(const TensorLayout& tensor) {
  std::size_t result = 1;
  for (const std::int64_t extent : tensor.shape) result *= static_cast<std::size_t>(extent);
  return result;
}

std::vector<TensorRun> tensor_runs(const StreamShape& shape) {
  std::vector<std::size_t> tensors;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t)
    if (floats_of(shape.tensors[t]) > 0) tensors.push_back(t);
  std::ranges::sort(tensors, {}, [&](std::size_t t) { return shape.tensors[t].offset; });
  std::vector<TensorRun> runs;
  std::size_t end = 0;
  for (const std::size_t t : tensors) {
    const std::size_t start = shape.tensors[t].offset, floats = floats_of(shape.tensors[t]);
    if (start < end || start + floats > shape.length)
      throw std::logic_error("tensors of a stream overlap, or reach beyond its end");
    if (start > end) runs.push_back({end, start - end});
    runs.push_back({start, floats, static_cast<int>(t)});
    end = start + floats;
  }
  if (end < shape.length) runs.push_back({end, shape.length - end});
  return runs;
}

std::vector<TensorRun> small_runs(const StreamShape& shape) {
  std::vector<TensorRun> result;
  for (const TensorRun& run : tensor_runs(shape)) {
    if (run.length >= shape.small) continue;
    if (!result.empty() && result.back().from + result.back().length == run.from)
      result.back().length += run.length;
    else
      result.push_back({run.from, run.length});
  }
  return result;
}

std::size_t total_length(const std::vector<TensorRun>& runs) {
  std::size_t result = 0;
  for (const TensorRun& run : runs) result += run.length;
  return result;
}

void gather(const std::vector<TensorRun>& runs, std::span<const float> x, float* out) {
  for (const TensorRun& run : runs) out = std::copy_n(x.data() + run.from, run.length, out);
}

void add_gathered(const std::vector<TensorRun>& runs, const float* gathered, float weight,
                  std::span<float> into) {
  for (const TensorRun& run : runs)
    for (std::size_t i = 0; i < run.length; ++i) into[run.from + i] += weight * *gathered++;
}

void fill(const std::vector<TensorRun>& runs, float value, std::span<float> x) {
  for (const TensorRun& run : runs) std::fill_n(x.data() + run.from, run.length, value);
}

}  // namespace veche
