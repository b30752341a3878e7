#include "bench/cluster/ddp.h"

#include <cmath>

#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/errors.h"

namespace veche {

namespace {

using Json = nlohmann::json;

struct DdpSetting {
  std::string model;
  int batch;
  int steps;  // per side and round: some seconds
  Words assignments;
  double promise;
};

Json ours_here(const DdpSetting& setting, int steps) {
  Words assignments{"model.name=" + setting.model,
                    "model.dropout=0",
                    "data.name=synthetic",
                    "data.samples=4000",
                    "data.test_samples=10",
                    "data.batch=" + std::to_string(setting.batch),
                    "optimizer.name=sgd",
                    "optimizer.lr=0.01",
                    "optimizer.momentum=0.9",
                    "strategy.name=allreduce",
                    "run.steps=" + std::to_string(steps),
                    "run.out=/tmp/veche-bench-ddp"};
  assignments.insert(assignments.end(), setting.assignments.begin(), setting.assignments.end());
  const Json result = run_ours(mpirun(2), assignments);
  if (result["disagreement"]["cv"].get<double>() != 0)
    throw RunError("bench ddp: nodes that share every gradient differ");
  return result;
}

BenchCase beside_ddp(const DdpSetting& setting, const BenchOptions& options) {
  const int steps = options.quick ? 4 : setting.steps;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 5)); ++round) {
    rounds.ours(ours_here(setting, steps)["samples_per_second"].get<double>());
    const Json theirs = run_ddp_here(
        {{"model", setting.model}, {"batch", setting.batch}, {"optimizer", "sgd"}, {"steps", steps}},
        options);
    if (!std::isfinite(theirs["loss"].get<double>()))
      throw RunError("bench ddp: the peer's loss is no number");
    rounds.theirs(0, theirs["images"].get<double>() / theirs["seconds"].get<double>());
  }
  return rounds.result(0, setting.model + " batch " + std::to_string(setting.batch) + ", 2 ranks, allreduce",
                       "images/s", "PyTorch DDP", setting.promise);
}

}  // namespace

nlohmann::json run_ddp_here(const nlohmann::json& request, const BenchOptions& options) {
  const std::string each = peer_command(options);
  const std::string both = "RANK=1 sh -c " + quoted(each) + " & RANK=0 sh -c " + quoted(each) + "; wait";
  return run_program({"sh", "-c", both},
                     {"REQUEST=" + request.dump(), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                      std::string("MASTER_PORT=") + kPeerPort, "GLOO_SOCKET_IFNAME=lo"});
}

std::vector<BenchCase> bench_ddp(const BenchOptions& options) {
  return {beside_ddp({"resnet20", 32, 40, {"data.shape=[3,32,32]"}, 1.3}, options),
          beside_ddp({"cnn", 25, 160, {"data.shape=[1,28,28]"}, 1.8}, options)};
}

}  // namespace veche
