#include "bench/cluster/grid.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <iostream>

#include "bench/cluster/lab_hosts.h"
#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/errors.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

constexpr int kSlow = 100;        // Mbit/s
constexpr int kFarEnough = 3000;  // steps
constexpr int kRaces = 3;

struct Measured {
  double images_per_second = 0;
  double disagreement = 0;
  double seconds = 0;
  double accuracy = 0;  // of the average model
  std::uint64_t steps = 0;
};

Words on_loopback(int steps) {
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

// The fastest settings found by bench slow-network.
Words on_slow_links(double target, int steps) {
  return {"model.name=cnn",
          "model.dropout=0",
          "data.name=fashion-mnist",
          "data.batch=25",
          "optimizer.name=adam",
          "optimizer.lr=0.001",
          "strategy.name=local-sgd",
          "strategy.period=4",
          "compress.codec=topk:0.02",
          "run.eval_every=32",
          "run.checkpoint_every=1000000",
          "run.target_accuracy=" + std::to_string(target),
          "run.steps=" + std::to_string(steps),
          "run.out=/tmp/veche-bench-grid"};
}

Measured train_as(const grid::FixedMembers& mine, const Words& assignments) {
  const auto job = grid::fixed_job(mine);
  Config config = Config::from_text("");
  for (const std::string& assignment : assignments) config.set(assignment);
  TrainingRequest request;
  request.settings = settings_for(config, job.get());
  request.keep = false;
  request.job = job.get();
  const Evaluation last = run_training(request).last;
  return {last.targets_per_second, last.cv, last.seconds, last.average_model.accuracy(), last.step};
}

void move_to(const LabHosts& hosts, std::vector<grid::FixedMembers>& members) {
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    close(members[rank].listening);
    const LabHosts::Socket socket = hosts.listen_on(rank);
    members[rank].listening = socket.descriptor;
    for (grid::FixedMembers& each : members) each.addresses[rank] = socket.address;
  }
}

// One process per member, each on its own host if there are hosts; the first member reports.
Measured on_the_grid(int members, const Words& assignments, const LabHosts* hosts) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw RunError("no pipe can be made");
  auto made = grid::fixed_members(members);
  if (hosts != nullptr) move_to(*hosts, made);
  std::vector<pid_t> children;
  for (const auto& mine : made) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    int code = 1;
    try {
      if (hosts != nullptr) hosts->enter(static_cast<std::size_t>(mine.rank));
      const Measured measured = train_as(mine, assignments);
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
    const Measured ours = on_the_grid(2, on_loopback(steps), nullptr);
    if (ours.disagreement != 0) throw RunError("bench grid: nodes that share every gradient differ");
    rounds.ours(ours.images_per_second);
    rounds.theirs(0, run_ours(mpirun(2), on_loopback(steps))["samples_per_second"].get<double>());
  }
  return {rounds.result(0, "resnet20 batch 32, 2 members, allreduce over TLS", "images/s", "MPI", 0.9)};
}

std::vector<BenchCase> bench_grid_slow(const BenchOptions& options) {
  const double target = options.quick ? 0.1 : options.target / 100;
  const Words assignments = on_slow_links(target, kFarEnough);
  Rounds rounds(1);
  std::string steps;
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, kRaces)); ++round) {
    const Measured ours = [&] {
      const LabHosts hosts(kSlow);
      return on_the_grid(4, assignments, &hosts);
    }();
    const auto theirs = run_ours(netlab(kSlow, "mpirun"), assignments);
    if (std::min(ours.accuracy, theirs["accuracy"]["average_model"].get<double>()) < target)
      throw RunError("bench grid-slow: the accuracy is not reached");
    rounds.ours(1 / ours.seconds);
    rounds.theirs(0, 1 / theirs["seconds"].get<double>());
    steps = fmt::format("{} steps, under MPI {}", ours.steps, theirs["steps"].get<int>());
  }
  BenchCase result = rounds.result(0,
                                   fmt::format("{:g} % in 4 members at {} Mbit/s, local-sgd every 4 with "
                                               "topk:0.02",
                                               100 * target, kSlow),
                                   "s", "MPI", 1 / 1.1);
  result.value = 1 / result.value;
  result.peer_value = 1 / result.peer_value;
  result.note = steps;
  return {result};
}

}  // namespace veche
