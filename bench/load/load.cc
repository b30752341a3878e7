#include "bench/load/load.h"

#include "bench/load/access.h"
#include "bench/load/prepare.h"

namespace veche {

std::vector<BenchCase> bench_load(const BenchOptions& options) {
  const SmallFiles files(options);
  std::vector<BenchCase> cases = bench_random_access(files, options);
  for (BenchCase& result : bench_prepare(files, options)) cases.push_back(std::move(result));
  cases.push_back(bench_start(files, options));
  for (BenchCase& result : cases) result.name = files.what + ": " + result.name;
  return cases;
}

}  // namespace veche
