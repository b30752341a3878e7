#include "bench/allreduce/allreduce.h"

#include "bench/allreduce/measure.h"
#include "bench/allreduce/sizes.h"
#include "bench/cluster/ranks.h"
#include "bench/rounds.h"
#include "bench/train/runs.h"
#include "veche/comm/allreduce/allreduce_table.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr int kRunsPerRound =
    3;  // the best counts: nodes that wait for each other are sensitive to other programs

std::vector<AllReduceSetting> settings(const BenchOptions& options) {
  std::vector<AllReduceSetting> all;
  for (const VectorSize& size : vector_sizes(options))
    for (const int nodes : node_counts(options, {2, 4, 8, 16})) all.push_back({size.name, size.bytes, nodes});
  return all;
}

// The cost of all-reduce in a training run, beside the same nodes without communication.
BenchCase training(const BenchOptions& options) {
  const auto run = [&](const std::string& strategy) {
    return short_run({"model.name=resnet20", "data.batch=32", "data.shape=[3,32,32]",
                      "strategy.name=" + strategy, options.quick ? "run.steps=2" : "run.steps=6"})
        .last;
  };
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::max(1, options.rounds / kRunsPerRound)); ++round) {
    double ours = 0;
    double theirs = 0;
    for (int attempt = 0; attempt < (options.quick ? 1 : kRunsPerRound); ++attempt) {
      const Evaluation agreeing = run("allreduce");
      if (agreeing.cv != 0) throw RunError("bench allreduce: nodes that share every gradient differ");
      ours = std::max(ours, agreeing.targets_per_second);
      theirs = std::max(theirs, run("none").targets_per_second);
    }
    rounds.ours(ours);
    rounds.theirs(0, theirs);
  }
  return rounds.result(0, "resnet20 batch 32, 4 nodes, allreduce", "images/s", "no strategy", 0.95);
}

}  // namespace

std::vector<BenchCase> bench_allreduce(const BenchOptions& options) {
  if (options.transport == "mpi") return bench_allreduce_mpi(options);
  std::vector<BenchCase> cases;
  std::vector<AllReduceTable::Row> rows;
  for (const AllReduceSetting& setting : settings(options)) {
    AllReduceFigures figures = measure_all_reduce(setting, options);
    rows.push_back({setting.nodes, setting.bytes, figures.best});
    for (BenchCase& result : figures.cases) cases.push_back(std::move(result));
  }
  if (!options.tune.empty()) AllReduceTable(std::move(rows)).write(options.tune);
  if (options.sizes.empty() && options.nodes.empty()) cases.push_back(training(options));
  return cases;
}

}  // namespace veche
