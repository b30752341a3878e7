#include "bench/train/agree.h"

#include "bench/rounds.h"
#include "bench/train/runs.h"
#include "veche/errors.h"

namespace veche {
namespace {

// The speed of a shared machine changes by a tenth from second to second. Many short rounds see
// both sides under the same conditions, and the median of many is accurate to about one per cent.
constexpr int kRoundsForOne = 4;

struct AgreeSetting {
  std::string name;
  std::vector<std::string> assignments;
  int steps;  // per run: about a second
  double required;
};

BenchCase measure(const AgreeSetting& setting, const BenchOptions& options) {
  const auto run = [&](const std::string& strategy) {
    auto assignments = setting.assignments;
    assignments.push_back("run.steps=" + std::to_string(options.quick ? 2 : setting.steps));
    assignments.push_back("strategy.name=" + strategy);
    return short_run(assignments).last;
  };
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 2 : kRoundsForOne * options.rounds); ++round) {
    // Alternating order, so that a machine that slows down favours neither side.
    const Evaluation agreeing = run("consensus"), alone = run("none");
    const Evaluation alone_again = run("none"), agreeing_again = run("consensus");
    if (agreeing.cv >= alone.cv)
      throw RunError("bench agree: nodes that agree differ more than nodes that do not");
    rounds.ours((agreeing.targets_per_second + agreeing_again.targets_per_second) / 2);
    rounds.theirs(0, (alone.targets_per_second + alone_again.targets_per_second) / 2);
  }
  return rounds.result(0, setting.name, "images/s", "no strategy", setting.required);
}

}  // namespace

std::vector<BenchCase> bench_agree(const BenchOptions& options) {
  return {measure({"cnn batch 25, 4 nodes, consensus every step",
                   {"model.name=cnn", "data.batch=25", "optimizer.name=adam", "optimizer.lr=0.001"},
                   20,
                   0.80},
                  options),
          measure({"resnet20 batch 32, 4 nodes, consensus every step",
                   {"model.name=resnet20", "data.batch=32", "data.shape=[3,32,32]"},
                   8,
                   0.95},
                  options)};
}

}  // namespace veche
