#include "bench/evaluate/evaluate.h"

#include <chrono>
#include <cmath>

#include "bench/peer.h"
#include "bench/rounds.h"
#include "bench/step/task.h"
#include "veche/base/machine/cores.h"
#include "veche/errors.h"

namespace veche {

extern const char kEvaluatePeer[];  // peer.py, appended to the models of the other peer

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kTestedBatch = 100;    // the batch size of evaluation in the training loop
constexpr int kStatisticsSteps = 5;  // steps in which the norms collect statistics
constexpr double kLossTolerance = 1e-4;
constexpr double kPromised = 1.3;

struct TestSetting {
  const char* model;
  Shape input;
  int times;  // passes over all images per round: about half a second
};

constexpr TestSetting kTestSettings[] = {{"cnn", {1, 28, 28}, 4}, {"resnet20", {3, 32, 32}, 1}};

Score test_all(const TrainingTask& task, int times) {
  Score score;
  for (int i = 0; i < times; ++i) {
    score = {};
    for (std::uint64_t batch = 0; batch < task.batches(); ++batch)
      score += task.learner().evaluate(task.batch(batch));
  }
  return score;
}

void check(const Score& ours, const nlohmann::json& theirs, const std::string& name) {
  const auto loss = theirs["loss"].get<double>();
  const auto correct = theirs["correct"].get<std::int64_t>();
  if (!(std::abs(ours.loss() - loss) <= kLossTolerance * std::abs(loss)) || ours.correct != correct)
    throw RunError("bench evaluate: the scores of '" + name + "' differ: loss " +
                   std::to_string(ours.loss()) + " against " + std::to_string(loss) + ", right " +
                   std::to_string(ours.correct) + " against " + std::to_string(correct));
}

BenchCase measure(const TestSetting& setting, int threads, Peer& peer, const BenchOptions& options) {
  ModelSpec spec;
  spec.name = setting.model;
  spec.input = setting.input;
  spec.evaluation_threads = threads;
  TrainingTask task(spec, kTestedBatch);
  for (std::uint64_t step = 0; step < kStatisticsSteps; ++step) {
    task.learner().compute_gradient(task.batch(step));
    for (std::size_t i = 0; i < task.learner().parameters().size(); ++i)
      task.learner().parameters()[i] -= 0.01F * task.learner().gradients()[i];
  }
  task.write_model();
  const std::string name = std::string(setting.model) + " tested by " + std::to_string(threads) +
                           (threads == 1 ? " thread" : " threads");
  nlohmann::json request = task.files();
  request.update({{"do", "make"}, {"name", name}, {"model", setting.model}});
  request.update({{"batch", kTestedBatch}, {"threads", threads}});
  peer.ask(request);
  const auto theirs = [&](int times) { return peer.ask({{"do", "run"}, {"name", name}, {"times", times}}); };
  check(test_all(task, 1), theirs(1), name);

  const int times = options.quick ? 1 : setting.times * threads;
  const double images = static_cast<double>(times) * static_cast<double>(task.batches()) * kTestedBatch;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    const auto start = SteadyClock::now();
    test_all(task, times);
    rounds.ours(images / std::chrono::duration<double>(SteadyClock::now() - start).count());
    rounds.theirs(0, images / theirs(times)["seconds"].get<double>());
  }
  return rounds.result(0, name, "images/s", "PyTorch eval, channels-last", kPromised);
}

}  // namespace

std::vector<BenchCase> bench_evaluate(const BenchOptions& options) {
  const int cores = usable_cores();
  Peer peer(options.python.empty() ? VECHE_PYTHON : options.python,
            "THREADS = " + std::to_string(cores) + "\n" + kEvaluatePeer, "python3-torch");
  std::vector<BenchCase> cases;
  for (const TestSetting& setting : kTestSettings) {
    cases.push_back(measure(setting, 1, peer, options));
    if (cores > 1) cases.push_back(measure(setting, cores, peer, options));
  }
  return cases;
}

}  // namespace veche
