#include "bench/cluster/ddp.h"

#include <cmath>

#include "bench/cluster/program.h"
#include "bench/rounds.h"
#include "veche/base/errors.h"

namespace veche {

extern const char kDdpPeer[];  // the texts of step/peer.py's models and ddp.py, and of scripts/netlab
extern const char kNetlab[];

namespace {

using Words = std::vector<std::string>;
using Json = nlohmann::json;

constexpr const char* kPort = "29417";
constexpr const char* kFashion = "/usr/share/datasets/fashion-mnist";

// A word for the shell.
std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string python(const BenchOptions& options) {
  return options.python.empty() ? VECHE_PYTHON : options.python;
}

Words train_words(const Words& assignments) {
  Words words{own_path(), "train", "--json", "--quiet"};
  for (const std::string& assignment : assignments) {
    words.emplace_back("--set");
    words.push_back(assignment);
  }
  return words;
}

Json ours(Words launcher, const Words& assignments) {
  for (const std::string& word : train_words(assignments)) launcher.push_back(word);
  return run_program(launcher);
}

// ---- Two ranks on this machine ----

struct Setting {
  std::string model;
  int batch;
  int steps;  // of one side in one round: some seconds
  Words assignments;
};

Json ours_here(const Setting& setting, int steps) {
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
  const Json result = ours(mpirun(2), assignments);
  if (result["disagreement"]["cv"].get<double>() != 0)
    throw RunError("bench ddp: nodes that share every gradient differ");
  return result;
}

Json theirs_here(const Setting& setting, int steps, const BenchOptions& options) {
  const Json request{
      {"model", setting.model}, {"batch", setting.batch}, {"optimizer", "sgd"}, {"steps", steps}};
  const std::string each = "exec " + quoted(python(options)) + " -c " + quoted(kDdpPeer);
  const std::string both = "RANK=1 sh -c " + quoted(each) + " & RANK=0 sh -c " + quoted(each) + "; wait";
  return run_program({"sh", "-c", both},
                     {"REQUEST=" + request.dump(), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                      std::string("MASTER_PORT=") + kPort, "GLOO_SOCKET_IFNAME=lo"});
}

BenchCase beside_ddp(const Setting& setting, const BenchOptions& options) {
  const int steps = options.quick ? 4 : setting.steps;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 5)); ++round) {
    rounds.ours(ours_here(setting, steps)["images_per_second"].get<double>());
    const Json theirs = theirs_here(setting, steps, options);
    if (!std::isfinite(theirs["loss"].get<double>()))
      throw RunError("bench ddp: the peer's loss is no number");
    rounds.theirs(0, theirs["images"].get<double>() / theirs["seconds"].get<double>());
  }
  return rounds.result(0, setting.model + " batch " + std::to_string(setting.batch) + ", 2 ranks, allreduce",
                       "images/s", "PyTorch DDP", 1.15);
}

// ---- Four hosts and a slow network ----

Words netlab(const std::string& how) {
  return {"bash", "-c", kNetlab, "netlab", "--hosts", "4", "--rate", "100mbit", how};
}

struct Way {
  std::string name;
  Words assignments;
  double required;
};

constexpr double kTarget = 0.88;
constexpr int kMostSteps = 3000;

double our_seconds(const Way& way, bool quick) {
  Words assignments{"data.name=fashion-mnist",
                    "data.batch=25",
                    "model.name=cnn",
                    "model.dropout=0",
                    "optimizer.name=adam",
                    "optimizer.lr=0.001",
                    "run.eval_every=" + std::to_string(quick ? 2 : 32),
                    "run.steps=" + std::to_string(quick ? 2 : kMostSteps),
                    "run.checkpoint_every=1000000",
                    "run.out=/tmp/veche-bench-ddp"};
  if (!quick) assignments.push_back("run.target_accuracy=" + std::to_string(kTarget));
  assignments.insert(assignments.end(), way.assignments.begin(), way.assignments.end());
  const Json result = ours(netlab("mpirun"), assignments);
  if (!quick && result["accuracy"]["average_model"].get<double>() < kTarget)
    throw RunError("bench slow-network: " + way.name + " does not reach the target");
  return result["seconds"].get<double>();
}

double their_seconds(const BenchOptions& options) {
  const Json request{{"model", "cnn"},
                     {"batch", 25},
                     {"optimizer", "adam"},
                     {"data", kFashion},
                     {"target", options.quick ? 0.0 : kTarget},
                     {"every", options.quick ? 2 : 32},
                     {"steps", options.quick ? 2 : kMostSteps}};
  const std::string each =
      "RANK=$((HOST-1)) MASTER_ADDR=$NETLAB_FIRST GLOO_SOCKET_IFNAME=$NETLAB_DEVICE exec " +
      quoted(python(options)) + " -c " + quoted(kDdpPeer);
  Words words = netlab("each");
  for (const std::string& word : Words{"sh", "-c", each}) words.push_back(word);
  const Json result =
      run_program(words, {"REQUEST=" + request.dump(), "WORLD_SIZE=4", std::string("MASTER_PORT=") + kPort});
  if (!options.quick && result["accuracy"].get<double>() < kTarget)
    throw RunError("bench slow-network: the peer does not reach the target");
  return result["seconds"].get<double>();
}

}  // namespace

std::vector<BenchCase> bench_ddp(const BenchOptions& options) {
  return {beside_ddp({"resnet20", 32, 40, {"data.shape=[3,32,32]"}}, options),
          beside_ddp({"cnn", 25, 160, {"data.shape=[1,28,28]"}}, options)};
}

std::vector<BenchCase> bench_slow_network(const BenchOptions& options) {
  const std::vector<Way> ways = {
      {"local-sgd every 32", {"strategy.name=local-sgd", "strategy.period=32"}, 8.0},
      {"allreduce", {"strategy.name=allreduce", "strategy.algorithm=ring"}, 1.0}};
  std::vector<Rounds> rounds(ways.size(), Rounds(1));
  const double theirs = their_seconds(options);  // minutes: once
  std::vector<BenchCase> cases;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const double seconds = our_seconds(ways[i], options.quick);
    rounds[i].ours(1 / seconds);
    rounds[i].theirs(0, 1 / theirs);
    BenchCase result = rounds[i].result(0, "cnn batch 25, 4 hosts at 100 Mbit/s, 88 %: " + ways[i].name, "s",
                                        "PyTorch DDP", ways[i].required);
    result.value = seconds;
    result.peer_value = theirs;
    cases.push_back(std::move(result));
  }
  return cases;
}

}  // namespace veche
