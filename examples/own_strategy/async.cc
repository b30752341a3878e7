// Six quadratics with different minima find the minimum of their sum by the strategy of
// circle_gossip.h, each at its own pace and with a codec. On the grid members come and go, each
// with one node of the same quadratic:
//   own_async_strategy --found KEY=VALUE...               prints an invitation
//   own_async_strategy --join INVITATION KEY=VALUE...
#include <cstdio>
#include <string>
#include <vector>

#include "circle_gossip.h"

int main(int argc, char** argv) try {
  veche::register_strategy(circle_gossip());
  std::vector<std::string> words(argv + 1, argv + argc);  // such as compress.codec=none
  veche::RunOptions options{.keep = false};
  const bool founds = !words.empty() && words[0] == "--found";
  const bool joins = words.size() > 1 && words[0] == "--join";
  if (founds || joins) {
    options.grid.emplace();
    if (joins) options.grid->invitation = words[1];
    options.grid->on_invitation = [](const std::string& invitation) {
      std::printf("%s\n", invitation.c_str());
      std::fflush(stdout);
    };
    words.erase(words.begin(), words.begin() + (joins ? 2 : 1));
  }
  veche::Config config;
  if (!joins)  // a member that joins takes the configuration of the run
    for (const char* key :
         {"strategy.name=circle-gossip", "compress.codec=int8", "model.name=quadratic", "run.steps=2000",
          "optimizer.name=sgd", "optimizer.lr=0.01", "optimizer.schedule=cosine"})
      config.set(key);
  if (founds)
    for (const char* key : {"model.a=[1]", "model.b=[3.5]"}) config.set(key);
  if (!options.grid)
    for (const char* key : {"model.a=[1, 1, 1, 1, 1, 1]", "model.b=[1, 2, 3, 4, 5, 6]", "cluster.work=equal"})
      config.set(key);
  for (const std::string& word : words) config.set(word);
  veche::Run run(config, options);
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
