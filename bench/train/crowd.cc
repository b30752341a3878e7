#include "bench/train/crowd.h"

#include <algorithm>
#include <chrono>

#include "bench/peak_memory.h"
#include "bench/rounds.h"
#include "bench/train/runs.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

// Records when the first node made its steps.
class Stopwatch : public RunObserver {
 public:
  void on_progress(const Progress& /*progress*/) override {}
  void on_measuring() override { measuring_ = Clock::now(); }
  void on_evaluation(const Evaluation& /*evaluation*/) override {}

  // From construction to the first node's first step; the run was evaluated once, at its end.
  double until_first_step(const RunResult& result) const {
    return std::chrono::duration<double>(measuring_ - made_).count() -
           result.last.nodes.front().training_seconds;
  }

 private:
  const Clock::time_point made_ = Clock::now();
  Clock::time_point measuring_;
};

// Many nodes beside four with the same total samples per step.
struct Crowd {
  std::string name;
  std::string graph;
  std::vector<std::string> settings;  // the model and its data
  int nodes = 0;
  int batch = 0;
  int steps = 0;
  double memory = 0;    // MiB, promised
  double start = 0;     // seconds until the first step, promised; 0: no promise
  double required = 0;  // relative to the speed of four nodes; 0: no promise

  std::vector<BenchCase> measure(int rounds, bool quick) const {
    const auto run = [&](const std::string& with_graph, int with_batch, int with_steps,
                         RunObserver& observer) {
      std::vector<std::string> all = settings;
      // Evaluated only at the end.
      for (const std::string& more :
           {"run.steps=" + std::to_string(with_steps), std::string("run.eval_every=1000000"),
            "topology.graph=" + with_graph, "data.batch=" + std::to_string(with_batch)})
        all.push_back(more);
      return short_run(all, &observer);
    };
    Rounds speed(1), peaks(1), starts(1);
    for (int round = 0; round < rounds; ++round) {
      forget_peak_memory();
      Stopwatch watch;
      const RunResult ours = run(graph, batch, quick ? 1 : steps, watch);
      if (round == 0) {  // later rounds find memory from the peer's large batches in the allocator
        peaks.ours(memory);
        peaks.theirs(0, peak_memory());
      }
      starts.ours(start);
      starts.theirs(0, watch.until_first_step(ours));
      speed.ours(ours.last.targets_per_second);
      Stopwatch unread;
      speed.theirs(0, run("ring:4", nodes * batch / 4, quick ? 1 : steps, unread).last.targets_per_second);
    }
    std::vector<BenchCase> cases{speed.result(0, name + " batch " + std::to_string(batch), "images/s",
                                              "4 nodes, batch " + std::to_string(nodes * batch / 4),
                                              required)};
    const auto add_limit = [&](const Rounds& measured, const std::string& what, const std::string& unit,
                               double limit) {
      if (limit == 0) return;
      BenchCase used = measured.result(0, name + ": " + what, unit, "the limit", 1.0);
      std::swap(used.value, used.peer_value);
      cases.push_back(used);
    };
    add_limit(peaks, "peak memory", "MiB", memory);
    add_limit(starts, "start to first step", "s", start);
    return cases;
  }
};

std::vector<BenchCase> measured(const std::vector<Crowd>& crowds, const BenchOptions& options) {
  std::vector<BenchCase> all;
  for (const Crowd& crowd : crowds) {
    if (!options.nodes.empty() && std::ranges::find(options.nodes, crowd.nodes) == options.nodes.end())
      continue;
    // Long runs are repeated less often: a round of a thousand nodes takes a minute.
    const int rounds = options.quick ? 1 : crowd.nodes < 1000 ? options.rounds : std::min(options.rounds, 3);
    for (BenchCase& result : crowd.measure(rounds, options.quick)) all.push_back(std::move(result));
  }
  return all;
}

const std::vector<std::string> kResnet20{"model.name=resnet20", "data.shape=[3,32,32]"};
// The default optimiser, which keeps two vectors per node.
std::vector<std::string> resnet20_with_adam(int samples) {
  std::vector<std::string> all = kResnet20;
  for (const std::string& more :
       {std::string("optimizer.name=adam"), std::string("optimizer.momentum=0.0"),
        std::string("optimizer.lr=0.001"), "data.samples=" + std::to_string(samples)})
    all.push_back(more);
  return all;
}

}  // namespace

std::vector<BenchCase> bench_crowd(const BenchOptions& options) {
  return measured({{.name = "resnet20, 36 nodes on a torus",
                    .graph = "torus:6x6",
                    .settings = kResnet20,
                    .nodes = 36,
                    .batch = 6,
                    .steps = 20,
                    .memory = 2048,
                    .required = 0.80},
                   {.name = "resnet20, 1,000 nodes on a torus",
                    .graph = "torus:25x40",
                    .settings = resnet20_with_adam(4000),
                    .nodes = 1000,
                    .batch = 2,
                    .steps = 4,
                    .memory = 6 * 1024,
                    .start = 10,
                    .required = 0.70}},
                  options);
}

std::vector<BenchCase> bench_crowd_large(const BenchOptions& options) {
  return measured({{.name = "resnet20, 3,000 nodes on a torus",
                    .graph = "torus:50x60",
                    .settings = resnet20_with_adam(12000),
                    .nodes = 3000,
                    .batch = 2,
                    .steps = 3,
                    .memory = 18 * 1024},
                   {.name = "mlp, 10,000 nodes on a torus",
                    .graph = "torus:100x100",
                    .settings = {"model.name=mlp", "optimizer.name=adam", "optimizer.momentum=0.0",
                                 "optimizer.lr=0.001", "data.samples=40000"},
                    .nodes = 10000,
                    .batch = 2,
                    .steps = 3,
                    .memory = 18 * 1024}},
                  options);
}

}  // namespace veche
