#include "bench/cluster/slow_network.h"

#include <fmt/format.h>

#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/errors.h"

namespace veche {

extern const char kNetlab[];  // the text of scripts/netlab

namespace {

using Json = nlohmann::json;

constexpr const char* kFashion = "/usr/share/datasets/fashion-mnist";
constexpr int kMostSteps = 3000;
constexpr int kTestEvery = 32;      // steps
constexpr int kStepsPerRound = 12;  // of a side, to compare images per second
constexpr int kRounds = 3;
constexpr int kMinutes = 40;  // the peer takes some ten to the end

Words netlab(const std::string& how) {
  return {"bash", "-c", kNetlab, "netlab", "--hosts", "4", "--rate", "100mbit", how};
}

// How far to go: so many steps, or to an accuracy that is measured every so many.
struct Course {
  int steps = kMostSteps;
  int test_every = kTestEvery;
  double target = 2;  // none
};

struct Arrival {
  double seconds = 0;
  double images = 0;
  int steps = 0;
};

Arrival ours(const Words& strategy, const Course& course) {
  Words assignments{"data.name=fashion-mnist",
                    "data.batch=25",
                    "model.name=cnn",
                    "model.dropout=0",
                    "optimizer.name=adam",
                    "run.eval_every=" + std::to_string(course.test_every),
                    "run.steps=" + std::to_string(course.steps),
                    "run.checkpoint_every=1000000",
                    "run.out=/tmp/veche-bench-slow-network"};
  if (course.target <= 1) assignments.push_back("run.target_accuracy=" + std::to_string(course.target));
  assignments.insert(assignments.end(), strategy.begin(), strategy.end());
  const Json result = run_ours(netlab("mpirun"), assignments, kMinutes);
  if (course.target <= 1 && result["accuracy"]["average_model"].get<double>() < course.target)
    throw RunError("bench slow-network: " + strategy.front() + " does not reach the target");
  const double seconds = result["seconds"];
  return {seconds, seconds * result["images_per_second"].get<double>(), result["steps"]};
}

Arrival theirs(const Course& course, const BenchOptions& options) {
  const Json request{{"model", "cnn"},          {"batch", 25},
                     {"optimizer", "adam"},     {"data", kFashion},
                     {"target", course.target}, {"every", course.test_every},
                     {"steps", course.steps}};
  Words words = netlab("each");
  words.insert(words.end(), {"sh", "-c",
                             "export RANK=$((HOST-1)) MASTER_ADDR=$NETLAB_FIRST "
                             "GLOO_SOCKET_IFNAME=$NETLAB_DEVICE; " +
                                 peer_command(options)});
  const Json result = run_program(
      words, {"REQUEST=" + request.dump(), "WORLD_SIZE=4", std::string("MASTER_PORT=") + kPeerPort},
      kMinutes);
  if (course.target <= 1 && result["accuracy"].get<double>() < course.target)
    throw RunError("bench slow-network: the peer does not reach the target");
  return {result["seconds"], result["images"], result["steps"]};
}

BenchCase images_per_second(const BenchOptions& options) {
  const int steps = options.quick ? 2 : kStepsPerRound;
  const Course course{steps, steps};
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, kRounds)); ++round) {
    const Arrival we = ours({"strategy.name=allreduce", "optimizer.lr=0.001"}, course);
    const Arrival they = theirs(course, options);
    rounds.ours(we.images / we.seconds);
    rounds.theirs(0, they.images / they.seconds);
  }
  return rounds.result(0, "cnn batch 25, 4 hosts at 100 Mbit/s, allreduce", "images/s", "PyTorch DDP", 1.0);
}

// The strategy, period and learning rate that were soonest there, and the peer's best learning rate.
BenchCase seconds_to_target(const BenchOptions& options) {
  const Course course{kMostSteps, kTestEvery, options.target / 100};
  const Arrival we = ours({"strategy.name=local-sgd", "strategy.period=32", "optimizer.lr=0.001"}, course);
  const Arrival they = theirs(course, options);
  Rounds rounds(1);
  rounds.ours(1 / we.seconds);
  rounds.theirs(0, 1 / they.seconds);
  BenchCase result = rounds.result(
      0, fmt::format("{:g} % in 4 hosts, local-sgd every 32 ({} steps)", options.target, we.steps), "s",
      fmt::format("PyTorch DDP ({} steps)", they.steps), 8.0);
  result.value = we.seconds;
  result.peer_value = they.seconds;
  return result;
}

}  // namespace

std::vector<BenchCase> bench_slow_network(const BenchOptions& options) {
  std::vector<BenchCase> cases{images_per_second(options)};
  if (!options.quick) cases.push_back(seconds_to_target(options));
  return cases;
}

}  // namespace veche
