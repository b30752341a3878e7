#include "bench/simulate/simulate.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/rounds.h"
#include "bench/topology/command.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

constexpr double kCnn = 1'475'338;  // parameters
constexpr int kRoundsOfConsensus = 10;
constexpr double kSeconds = 60, kMebibytes = 2048, kManySeconds = 300;
constexpr double kThreadsTime = 1.15;  // upper limit, relative to the same run on threads

Arguments with(Arguments words, const Arguments& assignments) {
  for (const std::string& assignment : assignments) words.insert(words.end(), {"--set", assignment});
  return words;
}

struct Scale {
  double seconds = 0;       // of the whole command
  double wall_seconds = 0;  // of the nodes alone
  double mebibytes = 0;
  double messages = 0;
};

// Every node sends its vector to four neighbours, ten times.
Scale consensus_on_torus(int a, int b) {
  const CommandResult done = run_self(
      with({"simulate", "--quiet", "--json"},
           {"model.name=cnn", "optimizer.name=sgd", "network.learning=none", "data.name=synthetic",
            "data.shape=[1,28,28]", fmt::format("data.samples={}", 25 * a * b), "data.test_samples=1",
            "data.partition=iid", fmt::format("run.steps={}", kRoundsOfConsensus),
            fmt::format("topology.graph=torus:{}x{}", a, b), "run.out=/tmp/veche-bench-simulate"}));
  const Json summary = Json::parse(done.output);
  const double messages = 4.0 * a * b * kRoundsOfConsensus;
  if (summary.at("messages").get<double>() != messages ||
      summary.at("bytes_sent").get<double>() != messages * 4 * kCnn)
    throw RunError("bench simulate: nodes send more or less than they must");
  return {done.seconds, summary.at("wall_seconds"), done.peak_mebibytes, messages};
}

BenchCase beside_limit(const std::string& name, double value, double limit, const std::string& unit) {
  Rounds rounds(1);
  rounds.ours(1 / value);
  rounds.theirs(0, 1 / limit);
  BenchCase result = rounds.result(0, name, unit, "limit", 1.0);
  result.value = value;
  result.peer_value = limit;
  return result;
}

// Messages per second, beside the scaling N log N from the smallest size.
void cost_per_message(std::vector<BenchCase>& cases, const std::vector<std::pair<int, int>>& tori) {
  double first = 0, first_nodes = 0;
  for (const auto& [a, b] : tori) {
    const Scale scale = consensus_on_torus(a, b);
    const double nodes = static_cast<double>(a) * b;
    const double each = scale.wall_seconds / scale.messages * 1e6;
    if (first == 0) first = each, first_nodes = nodes;
    cases.push_back(beside_limit(fmt::format("{:.0f} nodes: a message", nodes), each,
                                 first * 2 * std::log(nodes) / std::log(first_nodes), "us"));
    if (nodes == 1000) {
      cases.push_back(beside_limit("1,000 nodes on a torus, 10 rounds of cnn", scale.seconds, kSeconds, "s"));
      cases.push_back(beside_limit("1,000 nodes: peak memory", scale.mebibytes, kMebibytes, "MiB"));
    }
    if (nodes == 10'000)
      cases.push_back(
          beside_limit("10,000 nodes on a torus, 10 rounds of cnn", scale.seconds, kManySeconds, "s"));
  }
}

// Times whole commands.
BenchCase beside_threads(const BenchOptions& options) {
  const Arguments run{"model.name=cnn",
                      "data.name=synthetic",
                      "data.shape=[1,28,28]",
                      "data.samples=10000",
                      "data.test_samples=4",
                      "run.checkpoint_every=100000",
                      "topology.graph=ring:4",
                      options.quick ? "run.steps=3" : "run.steps=80",
                      "run.out=/tmp/veche-bench-simulate"};
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 5)); ++round) {
    const CommandResult simulated = run_self(with({"simulate", "--quiet", "--json"}, run));
    const CommandResult threads = run_self(with({"train", "--quiet", "--json"}, run));
    if (Json::parse(simulated.output).at("train_loss") != Json::parse(threads.output).at("train_loss"))
      throw RunError("bench simulate: a simulation learns something else than threads do");
    rounds.ours(1 / simulated.seconds);
    rounds.theirs(0, 1 / threads.seconds);
  }
  BenchCase result = rounds.result(0, "cnn, 4 nodes that learn, one core", "s", "threads", 1 / kThreadsTime);
  result.value = 1 / result.value;
  result.peer_value = 1 / result.peer_value;
  return result;
}

}  // namespace

std::vector<BenchCase> bench_simulate(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  if (options.quick)
    cost_per_message(cases, {{10, 10}});
  else
    cost_per_message(cases, {{10, 10}, {16, 20}, {25, 40}, {50, 64}, {100, 100}});
  cases.push_back(beside_threads(options));
  return cases;
}

}  // namespace veche
