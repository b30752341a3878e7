// Six quadratics with different minima find the minimum of their sum by the strategy of circle_gossip.h, at
// their own pace and with a codec.
#include <cstdio>

#include "circle_gossip.h"

int main(int argc, char** argv) try {
  veche::register_strategy(circle_gossip());
  veche::Config config;
  for (const char* key :
       {"strategy.name=circle-gossip", "compress.codec=int8", "model.name=quadratic",
        "model.a=[1, 1, 1, 1, 1, 1]", "model.b=[1, 2, 3, 4, 5, 6]", "run.steps=2000", "cluster.work=equal",
        "optimizer.name=sgd", "optimizer.lr=0.01", "optimizer.schedule=cosine"})
    config.set(key);
  for (int i = 1; i < argc; ++i) config.set(argv[i]);  // such as compress.codec=none
  veche::Run run(config, {.keep = false});
  const veche::RunResult result = run.wait();
  if (result.info.rank == 0)  // under mpirun one rank speaks for all
    std::printf("x = %.1f where the sum has its minimum at 3.5; nodes differ by %.0f %%; codec %s\n",
                result.parameters.front().front(), 100 * result.last.cv,
                result.info.codec.empty() ? "none" : result.info.codec.c_str());
  return 0;
} catch (const veche::Error& error) {
  std::fprintf(stderr, "own_async_strategy: %s\n", error.what());
  return 1;
}
