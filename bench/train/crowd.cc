#include "bench/train/crowd.h"

#include <fstream>

#include "bench/rounds.h"
#include "bench/train/runs.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr double kMiB = 1024 * 1024;
constexpr double kLimit = 2048;  // MiB

// Linux forgets the peak so far when told so (proc(5), clear_refs).
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024 / kMiB;
    }
  throw RunError("bench crowd: the peak of memory cannot be read from /proc/self/status");
}

}  // namespace

std::vector<BenchCase> bench_crowd(const BenchOptions& options) {
  const std::string steps = options.quick ? "run.steps=1" : "run.steps=20";
  const auto run = [&](const std::string& graph, const std::string& batch) {
    return short_run({"model.name=resnet20", "data.shape=[3,32,32]", steps, "topology.graph=" + graph,
                      "data.batch=" + batch})
        .last.images_per_second;
  };
  Rounds speed(1);
  Rounds memory(1);
  for (int round = 0; round < (options.quick ? 1 : options.rounds); ++round) {
    forget_peak_memory();
    speed.ours(run("torus:6x6", "6"));
    const double peak = peak_memory();
    memory.ours(kLimit);
    memory.theirs(0, peak);
    speed.theirs(0, run("ring:4", "54"));
  }
  BenchCase used = memory.result(0, "resnet20, 36 nodes: peak memory", "MiB", "2 GiB", 1.0);
  std::swap(used.value, used.peer_value);
  return {speed.result(0, "resnet20 batch 6, 36 nodes on a torus", "images/s", "4 nodes, batch 54", 0.80),
          used};
}

}  // namespace veche
