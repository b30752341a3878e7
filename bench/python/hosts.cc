#include <fmt/format.h>

#include "bench/cluster/lab_hosts.h"
#include "bench/python/python.h"
#include "bench/python/workshop.h"
#include "bench/rounds.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Json = nlohmann::json;

constexpr char kFashion[] = "/usr/share/datasets/fashion-mnist";
constexpr int kSlow = 100;        // Mbit/s
constexpr int kFarEnough = 3000;  // steps
constexpr int kTestEvery = 32;    // steps
constexpr double kRequired = 10;  // times as fast
constexpr double kEnough = 1.3;   // the peer is stopped when it has taken this much more than required
constexpr int kMinutes = 40;

}  // namespace

std::vector<BenchCase> bench_python_hosts(const BenchOptions& options) {
  const Workshop workshop(options);
  const double target = options.quick ? 0.1 : options.target / 100;
  Json request{{"model", "cnn"},   {"batch", 25},         {"optimizer", "adam"}, {"data", kFashion},
               {"target", target}, {"every", kTestEvery}, {"steps", kFarEnough}};
  request["do"] = "race";
  request["veche"] = {{"strategy", {{"name", "local-sgd"}, {"period", 4}}}, {"compress", "topk:0.02"}};
  const Json ours = workshop.run_with(netlab(kSlow, "mpirun"), request, kMinutes);
  if (ours["accuracy"].get<double>() < target)
    throw RunError("bench python-hosts: our side does not reach the accuracy");
  const double seconds = ours["seconds"];
  request["limit"] = kRequired * kEnough * seconds;
  const Json theirs = run_ddp_on_hosts(kSlow, request, options, kMinutes);
  const double their_seconds = theirs["seconds"], their_accuracy = theirs["accuracy"];
  const bool stopped = their_accuracy < target;
  if (stopped && !options.quick && their_seconds < kRequired * seconds)
    throw RunError("bench python-hosts: the peer does not reach the accuracy");

  Rounds rounds(1);
  rounds.ours(1 / seconds);
  rounds.theirs(0, 1 / their_seconds);
  BenchCase result = rounds.result(
      0,
      fmt::format("PyTorch loop, {:g} % in 4 hosts at {} Mbit/s, local-sgd every 4 with topk:0.02",
                  100 * target, kSlow),
      "s", "PyTorch DDP", kRequired);
  result.value = seconds;
  result.peer_value = their_seconds;
  result.note = fmt::format("{:.1f} s and {} steps; the peer {} {:.1f} s and {} steps, {:.1f} %", seconds,
                            ours["steps"].get<int>(), stopped ? "was stopped after" : "took", their_seconds,
                            theirs["steps"].get<int>(), 100 * their_accuracy);
  if (stopped) options.tell(result.name + ": the peer was stopped, as the promise was kept: " + result.note);
  return {result};
}

}  // namespace veche
