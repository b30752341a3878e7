#include "bench/pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/errors.h"

namespace veche {

extern const char kPipelinePeer[];  // the text of pipeline/peer.py

namespace {

using Json = nlohmann::json;

constexpr int kWholeBatch = 32, kParts = 8, kSide = 64;
constexpr double kBubble = 1.0 / (kParts + 1);  // for two equal stages

Words task(int steps) {
  return {"model.name=resnet50",
          "data.name=synthetic",
          "data.samples=320",
          "data.test_samples=2",
          "data.shape=[3,64,64]",
          "data.batch=" + std::to_string(kWholeBatch),
          "optimizer.name=sgd",
          "optimizer.lr=0.01",
          "optimizer.momentum=0.9",
          "run.eval_every=1",  // reports the duration of every step
          "run.checkpoint_every=100000",
          "run.steps=" + std::to_string(steps),
          "run.out=/tmp/veche-bench-pipeline"};
}

// Images per second after the first step, which is a warm-up, as in the peer.
double rate(const Json& run) {
  std::ifstream lines(run["run"].get<std::string>() + "/metrics.jsonl");
  std::vector<double> until;  // cumulative training seconds by step
  for (std::string line; std::getline(lines, line);)
    until.push_back(Json::parse(line)["seconds"].get<double>());
  if (until.size() != run["steps"].get<std::size_t>())
    throw RunError("bench pipeline: there is not a measurement for every step");
  if (!std::isfinite(run["train_loss"].get<double>()))
    throw RunError("bench pipeline: the loss is no number");
  return kWholeBatch * static_cast<double>(until.size() - 1) / (until.back() - until.front());
}

Json one_core(int steps) {
  return run_ours({"taskset", "-c", "0"}, joined(task(steps), {"strategy.name=single", "cluster.nodes=1"}));
}

Json two_ranks(int steps, const std::string& cut) {
  Words launcher = mpirun(2);
  std::ranges::replace(launcher, "none", "core");  // one core each
  return run_ours(
      launcher,
      joined(task(steps), {"strategy.name=allreduce", "cluster.nodes=2", "pipeline.stages=2",
                           "pipeline.micro_batches=" + std::to_string(kParts), "pipeline.cut=" + cut}));
}

Json theirs(int steps, int cut, const BenchOptions& options) {
  const Json request{
      {"batch", kWholeBatch}, {"micro_batches", kParts}, {"side", kSide}, {"steps", steps}, {"cut", cut}};
  const std::string python = options.python.empty() ? VECHE_PYTHON : options.python;
  const std::string each = "exec taskset -c $RANK " + quoted(python) + " -c " + quoted(kPipelinePeer);
  const std::string both = "RANK=1 sh -c " + quoted(each) + " & RANK=0 sh -c " + quoted(each) + "; wait";
  return run_program({"sh", "-c", both}, {"REQUEST=" + request.dump(), "MASTER_ADDR=127.0.0.1",
                                          std::string("MASTER_PORT=") + kPeerPort, "GLOO_SOCKET_IFNAME=lo"});
}

// The cut with the most equal block times on both sides, from `veche model show`.
int best_place() {
  const Json shown = run_program(
      {own_path(), "model", "show", "resnet50", "--set", "model.classes=10", "--input", "3x64x64", "--stages",
       "2", "--batch", std::to_string(kWholeBatch), "--micro-batches", std::to_string(kParts), "--json"});
  return shown["cut"][0].get<int>();
}

std::vector<BenchCase> speed(const BenchOptions& options) {
  const std::string name = "resnet50 64x64 batch 32, 2 stages, 8 micro-batches";
  if (!options.wants(name)) return {};
  constexpr int kMeasured = 2;  // steps of up to half a minute, after a warm-up step
  const int cut = best_place();
  const std::string place = "[" + std::to_string(cut) + "]";
  Rounds rounds(2);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 3)); ++round) {
    rounds.ours(rate(two_ranks(kMeasured + 1, place)));
    rounds.theirs(0, rate(one_core(2)) * 2 * (1 - kBubble));
    const Json peer = theirs(kMeasured, cut, options);
    if (!std::isfinite(peer["loss"].get<double>()))
      throw RunError("bench pipeline: the peer's loss is no number");
    rounds.theirs(1, peer["images"].get<double>() / peer["seconds"].get<double>());
  }
  return {rounds.result(0, name, "images/s", "two cores but for the bubble", 0.85),
          rounds.result(1, name, "images/s", "PyTorch, 1F1B over Gloo", 1.3)};
}

std::vector<double> peaks(const Words& schedule) {
  const Json run =
      run_ours({}, joined(task(1), joined({"strategy.name=allreduce", "cluster.nodes=4", "pipeline.stages=4",
                                           "pipeline.micro_batches=16", "pipeline.cut=[5,9,13]"},
                                          schedule)));
  std::vector<double> bytes;
  for (const auto& stage : run["stages"]) bytes.push_back(stage["peak_bytes"].get<double>());
  return bytes;
}

// Of the stage that gains least.
BenchCase memory(const std::string& name, const std::string& peer, const std::vector<double>& less,
                 const std::vector<double>& more, double required) {
  std::size_t worst = 0;
  for (std::size_t s = 0; s < less.size(); ++s)
    if (more[s] / less[s] < more[worst] / less[worst]) worst = s;
  return {name + ", stage " + std::to_string(worst),
          less[worst] / 1e6,
          "MB",
          peer,
          more[worst] / 1e6,
          more[worst] / less[worst],
          0,
          1,
          required};
}

}  // namespace

std::vector<BenchCase> bench_pipeline(const BenchOptions& options) {
  std::vector<BenchCase> cases = speed(options);
  const std::string name = "peak of passes, 4 stages, 16 micro-batches";
  if (!options.wants(name)) return cases;
  const std::vector<double> all = peaks({"pipeline.schedule=gpipe"});
  cases.push_back(memory(name + ", 1f1b", "gpipe", peaks({"pipeline.schedule=1f1b"}), all, 1 / 0.6));
  cases.push_back(memory(name + ", gpipe, recompute", "without",
                         peaks({"pipeline.schedule=gpipe", "pipeline.recompute=true"}), all, 1 / 0.5));
  return cases;
}

}  // namespace veche
