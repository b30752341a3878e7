#include "bench/allreduce/sizes.h"

#include <algorithm>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"

namespace veche {

std::vector<VectorSize> vector_sizes(const BenchOptions& options) {
  const std::vector<VectorSize> all = {
      {"1 KB", 1 << 10}, {"64 KB", 1 << 16}, {"1 MB", 1 << 20}, {"16 MB", 1 << 24}, {"64 MB", 1 << 26}};
  if (options.sizes.empty()) return options.quick ? std::vector(all.begin(), all.begin() + 3) : all;
  std::vector<std::string> names;
  for (const VectorSize& size : all) {
    names.push_back(size.name);
    std::erase(names.back(), ' ');
  }
  std::vector<VectorSize> chosen;
  for (std::string name : options.sizes) {
    std::erase(name, ' ');
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw RequestError("--sizes: all-reduce is not measured with '" + name + "'" + suggestion(name, names));
    chosen.push_back(all[static_cast<std::size_t>(found - names.begin())]);
  }
  return chosen;
}

std::vector<int> node_counts(const BenchOptions& options, std::vector<int> usual) {
  return options.nodes.empty() ? usual : options.nodes;
}

}  // namespace veche
