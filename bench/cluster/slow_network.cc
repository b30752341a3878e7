#include "bench/cluster/slow_network.h"

#include <fmt/format.h>

#include <map>

#include "bench/cluster/lab_hosts.h"
#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/errors.h"

namespace veche {

namespace {

using Json = nlohmann::json;

constexpr const char* kFashion = "/usr/share/datasets/fashion-mnist";
constexpr int kMostSteps = 3000;
constexpr int kTestEvery = 32;      // steps
constexpr int kStepsPerRound = 12;  // per side, from the start, to compare images per second
constexpr int kShortSteps = 120;    // for PowerSGD, whose peer begins with two uncompressed all-reduces
constexpr int kRounds = 3;
constexpr int kMinutes = 40;  // the peer takes about ten

// The length of a run: a number of steps, or an accuracy measured at an interval.
struct Course {
  int steps = kMostSteps;
  int test_every = kTestEvery;
  double target = 2;  // unreachable: no target
  int rate = 100;     // of the links, Mbit/s
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
  const Json result = run_ours(netlab(course.rate, "mpirun"), assignments, kMinutes);
  if (course.target <= 1 && result["accuracy"]["average_model"].get<double>() < course.target)
    throw RunError("bench slow-network: " + strategy.front() + " does not reach the target");
  const double seconds = result["seconds"];
  return {seconds, seconds * result["samples_per_second"].get<double>(), result["steps"]};
}

Arrival theirs(const std::string& hook, const Course& course, const BenchOptions& options) {
  const Json request{{"model", "cnn"},          {"batch", 25},
                     {"optimizer", "adam"},     {"data", kFashion},
                     {"target", course.target}, {"every", course.test_every},
                     {"steps", course.steps},   {"hook", hook}};
  const Json result = run_ddp_on_hosts(course.rate, request, options, kMinutes);
  if (course.target <= 1 && result["accuracy"].get<double>() < course.target)
    throw RunError("bench slow-network: the peer does not reach the target");
  return {result["seconds"], result["images"], result["steps"]};
}

// All-reduce with a codec beside DDP with the hook of the same name; both without compression if
// empty.
void images_per_second(const std::string& codec, double required, const BenchOptions& options,
                       std::vector<BenchCase>& cases) {
  const std::string with = codec.empty() ? "" : " with " + codec;
  const std::string name = "cnn batch 25, 4 hosts at 100 Mbit/s, allreduce" + with;
  if (!options.wants(name)) return;
  const int steps = options.quick ? 2 : codec.starts_with("powersgd") ? kShortSteps : kStepsPerRound;
  const Course course{steps, steps};
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, kRounds)); ++round) {
    Words strategy{"strategy.name=allreduce", "optimizer.lr=0.001"};
    if (!codec.empty()) strategy.push_back("compress.codec=" + codec);
    const Arrival we = ours(strategy, course);
    const Arrival they = theirs(codec, course, options);
    rounds.ours(we.images / we.seconds);
    rounds.theirs(0, they.images / they.seconds);
  }
  cases.push_back(rounds.result(0, name, "images/s", "PyTorch DDP" + with, required));
}

struct Race {
  std::string name;  // of our side
  Words strategy;
  std::string hook;  // of the peer
  int rate;
  double required;
};

// The fastest strategies, periods, codecs and learning rates found, and the peer's best learning
// rate. Evaluation is not timed on either side.
std::vector<Race> races() {
  const auto local = [](int period) {
    return Words{"strategy.name=local-sgd", "strategy.period=" + std::to_string(period),
                 "optimizer.lr=0.001"};
  };
  const auto coded = [&](int period, const std::string& codec) {
    Words words = local(period);
    words.push_back("compress.codec=" + codec);
    return words;
  };
  return {{"local-sgd every 32", local(32), "", 100, 8.0},
          {"local-sgd every 4 with topk:0.02", coded(4, "topk:0.02"), "", 100, 15.0},
          {"local-sgd every 8 with topk:0.01", coded(8, "topk:0.01"), "powersgd:2", 10, 4.0}};
}

std::string name_of(const Race& race, const BenchOptions& options) {
  return fmt::format("{:g} % in 4 hosts at {} Mbit/s, {}", options.target, race.rate, race.name);
}

BenchCase seconds_to_target(const Race& race, const Arrival& they, const BenchOptions& options) {
  const Course course{kMostSteps, kTestEvery, options.target / 100, race.rate};
  const Arrival we = ours(race.strategy, course);
  Rounds rounds(1);
  rounds.ours(1 / we.seconds);
  rounds.theirs(0, 1 / they.seconds);
  BenchCase result =
      rounds.result(0, name_of(race, options), "s",
                    "PyTorch DDP" + (race.hook.empty() ? "" : " with " + race.hook), race.required);
  result.value = we.seconds;
  result.peer_value = they.seconds;
  result.note = fmt::format("{:.1f} s and {} steps, the peer {:.1f} s and {} steps, once each", we.seconds,
                            we.steps, they.seconds, they.steps);
  return result;
}

}  // namespace

std::vector<BenchCase> bench_slow_network(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  images_per_second("", 1.0, options, cases);
  images_per_second("fp16", 1.2, options, cases);
  images_per_second("powersgd:2", 1.2, options, cases);
  std::map<std::pair<int, std::string>, Arrival> peers;  // avoids running the same peer twice
  for (const Race& race : options.quick ? std::vector<Race>() : races()) {
    if (!options.wants(name_of(race, options))) continue;
    const std::pair peer(race.rate, race.hook);
    if (!peers.contains(peer))
      peers[peer] = theirs(race.hook, {kMostSteps, kTestEvery, options.target / 100, race.rate}, options);
    cases.push_back(seconds_to_target(race, peers[peer], options));
  }
  return cases;
}

}  // namespace veche
