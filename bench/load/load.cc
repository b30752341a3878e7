#include "bench/load/load.h"

#include "bench/load/access.h"

namespace veche {

std::vector<BenchCase> bench_load(const BenchOptions& options) {
  const SmallFiles files(options.quick ? 600 : 60000);
  std::vector<BenchCase> cases = bench_random_access(files, options);
  cases.push_back(bench_start(files, options));
  return cases;
}

}  // namespace veche
