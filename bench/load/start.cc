#include "bench/load/access.h"
#include "bench/rounds.h"
#include "bench/topology/command.h"

namespace veche {

BenchCase bench_start(const SmallFiles& files, const BenchOptions& options) {
  constexpr double kLimit = 2;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : options.rounds); ++round) {
    // Printed as soon as all nodes have made a step and exchanged its result.
    const double seconds = seconds_to_line(
        {"train", "--set", "data.path=" + files.decoded.place, "--set", "model.name=resnet20", "--set",
         "data.batch=32", "--set", "cluster.nodes=4", "--set", "run.out=" + files.decoded.place + "-runs"},
        "epoch 0.");
    rounds.ours(1 / seconds);
    rounds.theirs(0, 1 / kLimit);
  }
  return rounds.result(0, "starts per second: command to first step, packed, resnet20, 4 nodes", "1/s",
                       "the limit, 2 s", 1);
}

}  // namespace veche
