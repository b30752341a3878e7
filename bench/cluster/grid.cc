#include "bench/cluster/grid.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <iostream>

#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/errors.h"
#include "veche/runtime/training.h"

namespace veche {
namespace {

struct Measured {
  double images_per_second = 0;
  double disagreement = 0;
};

Words grid_assignments(int steps) {
  return {"model.name=resnet20",
          "data.name=synthetic",
          "data.shape=[3,32,32]",
          "data.samples=4000",
          "data.test_samples=10",
          "data.batch=32",
          "optimizer.name=sgd",
          "optimizer.lr=0.01",
          "optimizer.momentum=0.9",
          "strategy.name=allreduce",
          "run.steps=" + std::to_string(steps),
          "run.out=/tmp/veche-bench-grid"};
}

Measured train_as(const grid::FixedMembers& mine, int steps) {
  const auto job = grid::fixed_job(mine);
  Config config = Config::from_text("");
  for (const std::string& assignment : grid_assignments(steps)) config.set(assignment);
  TrainingRequest request;
  request.settings = settings_for(config, job.get());
  request.keep = false;
  request.job = job.get();
  const RunResult result = run_training(request);
  return {result.last.images_per_second, result.last.cv};
}

// A process for each member; the first tells.
Measured on_the_grid(int members, int steps) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw RunError("no pipe can be made");
  const auto made = grid::fixed_members(members);
  std::vector<pid_t> children;
  for (const auto& mine : made) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    int code = 1;
    try {
      const Measured measured = train_as(mine, steps);
      code = mine.rank == 0 && write(ends[1], &measured, sizeof measured) != sizeof measured ? 1 : 0;
    } catch (const std::exception& error) {
      std::cerr << "bench grid: " << error.what() << "\n";
    }
    _exit(code);
  }
  close(ends[1]);
  for (const auto& each : made) close(each.listening);
  Measured measured;
  const bool told = read(ends[0], &measured, sizeof measured) == sizeof measured;
  close(ends[0]);
  bool good = told;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    good = good && status == 0;
  }
  if (!good) throw RunError("bench grid: a member failed");
  return measured;
}

}  // namespace

std::vector<BenchCase> bench_grid(const BenchOptions& options) {
  const int steps = options.quick ? 4 : 60;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 5)); ++round) {
    const Measured ours = on_the_grid(2, steps);
    if (ours.disagreement != 0) throw RunError("bench grid: nodes that share every gradient differ");
    rounds.ours(ours.images_per_second);
    rounds.theirs(0, run_ours(mpirun(2), grid_assignments(steps))["images_per_second"].get<double>());
  }
  return {rounds.result(0, "resnet20 batch 32, 2 members, allreduce over TLS", "images/s", "MPI", 0.9)};
}

}  // namespace veche
