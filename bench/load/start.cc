#include <nlohmann/json.hpp>

#include "bench/load/access.h"
#include "bench/rounds.h"
#include "bench/topology/command.h"
#include "veche/base/errors.h"

namespace veche {

BenchCase bench_start(const SmallFiles& files, const BenchOptions& options) {
  constexpr double kLimit = 2;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : options.rounds); ++round) {
    const CommandResult run = run_self(
        {"train", "--json", "--set", "data.path=" + files.packed.place, "--set", "model.name=mlp", "--set",
         "run.steps=1", "--set", "cluster.nodes=4", "--set", "run.out=" + files.packed.place + "-runs"});
    const auto summary = nlohmann::json::parse(run.output);
    if (summary.at("steps") != 1 || summary.at("damaged_samples") != 0)
      throw RunError("bench load: a run of one step was not one");
    rounds.ours(1 / run.seconds);
    rounds.theirs(0, 1 / kLimit);
  }
  return rounds.result(0, "starts per second, packed, 4 nodes", "1/s", "the limit, 2 s", 1);
}

}  // namespace veche
