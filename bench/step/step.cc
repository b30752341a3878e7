#include "bench/step/step.h"

#include <chrono>
#include <cmath>

#include "bench/peer.h"
#include "bench/rounds.h"
#include "bench/step/task.h"
#include "veche/base/machine/cores.h"
#include "veche/base/machine/instruction_set.h"
#include "veche/errors.h"
#include "veche/train/optim/optimizer.h"

namespace veche {

extern const char kStepPeer[];  // the text of peer.py

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCheckedSteps = 3;  // later steps may differ: one switched ReLU grows to percents in ten steps
constexpr double kTolerance = 1e-3;
const char* const kLayouts[] = {"nchw", "nhwc"};

// Promised ratios of images per second, beside PyTorch's usual loop, plain and channels-last.
struct StepPromise {
  double usual;
  double channels_last;
};

struct StepSetting {
  const char* model;
  const char* optimizer;
  double rate;  // the same as in peer.py
  Shape input;
  int batch;
  int steps;  // per side and round: about half a second
  StepPromise promise;
  StepPromise with_avx512;
};

constexpr StepSetting kSettings[] = {
    {"cnn", "sgd", 0.01, {1, 28, 28}, 25, 24, {2.2, 1.7}, {2.2, 1.7}},
    {"cnn", "adam", 0.001, {1, 28, 28}, 25, 20, {2.2, 1.7}, {2.2, 1.7}},
    {"resnet20", "sgd", 0.01, {3, 32, 32}, 32, 4, {1.5, 1.25}, {1.6, 1.4}},
};

// Our side: the same calls as in the training loop.
class StepTrainer {
 public:
  StepTrainer(const StepSetting& setting, const TrainingTask& task, int threads)
      : rate_(setting.rate), threads_(threads), task_(task) {
    const OptimizerSettings settings{.name = setting.optimizer, .momentum = 0.9};
    optimizer_ = make_optimizer(settings, task.learner().parameters().size());
  }

  std::vector<double> run(int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i, ++step_) {
      losses.push_back(task_.learner().compute_gradient(task_.batch(step_)).loss());
      optimizer_->update(task_.learner().parameters(), task_.learner().gradients(),
                         {.rate = rate_, .gradient_scale = 1, .number = step_ + 1, .threads = threads_});
    }
    return losses;
  }

 private:
  const double rate_;
  const int threads_;
  const TrainingTask& task_;
  std::unique_ptr<Optimizer> optimizer_;
  std::uint64_t step_ = 0;
};

void check(const std::vector<double>& ours, const std::vector<double>& theirs, const std::string& name) {
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (!(std::abs(ours[i] - theirs.at(i)) <= kTolerance * std::abs(theirs[i])))
      throw RunError("bench step: the losses of '" + name + "' differ at step " + std::to_string(i) + ": " +
                     std::to_string(ours[i]) + " against " + std::to_string(theirs[i]));
}

std::vector<BenchCase> measure(const StepSetting& setting, int threads, Peer& peer,
                               const BenchOptions& options) {
  ModelSpec spec;
  spec.name = setting.model;
  spec.input = setting.input;
  spec.settings.dropout = 0.0;  // no two programs drop the same values
  spec.settings.threads = threads;
  const TrainingTask task(spec, setting.batch);
  StepTrainer trainer(setting, task, threads);
  const std::vector<double> losses = trainer.run(kCheckedSteps);

  std::string name =
      std::string(setting.model) + " batch " + std::to_string(setting.batch) + " " + setting.optimizer;
  if (threads > 1) name += ", " + std::to_string(threads) + " threads";
  for (const char* layout : kLayouts) {
    nlohmann::json request = task.files();
    request.update({{"do", "make"}, {"name", layout}, {"model", setting.model}, {"layout", layout}});
    request.update({{"optimizer", setting.optimizer}, {"batch", setting.batch}});
    peer.ask(request);
    const auto answer = peer.ask({{"do", "run"}, {"name", layout}, {"steps", kCheckedSteps}});
    check(losses, answer["losses"].get<std::vector<double>>(), name);
  }

  const int steps = options.quick ? 2 : setting.steps;
  const double images = static_cast<double>(steps) * setting.batch;
  Rounds rounds(std::size(kLayouts));
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    const auto start = Clock::now();
    trainer.run(steps);
    rounds.ours(images / std::chrono::duration<double>(Clock::now() - start).count());
    for (std::size_t i = 0; i < std::size(kLayouts); ++i) {
      const auto answer = peer.ask({{"do", "run"}, {"name", kLayouts[i]}, {"steps", steps}});
      rounds.theirs(i, images / answer["seconds"].get<double>());
    }
  }
  const StepPromise& promise = instruction_set() == "avx512" ? setting.with_avx512 : setting.promise;
  return {rounds.result(0, name, "images/s", "PyTorch", threads > 1 ? 1.00 : promise.usual),
          rounds.result(1, name, "images/s", "PyTorch channels-last",
                        threads > 1 ? 1.00 : promise.channels_last)};
}

}  // namespace

std::vector<BenchCase> bench_step(const BenchOptions& options) {
  Peer peer(options.python.empty() ? VECHE_PYTHON : options.python, kStepPeer, "python3-torch");
  std::vector<BenchCase> cases;
  for (const StepSetting& setting : kSettings)
    for (BenchCase& result : measure(setting, 1, peer, options)) cases.push_back(std::move(result));
  return cases;
}

std::vector<BenchCase> bench_threads(const BenchOptions& options) {
  const int threads = usable_cores();
  Peer peer(options.python.empty() ? VECHE_PYTHON : options.python,
            "THREADS = " + std::to_string(threads) + "\n" + kStepPeer, "python3-torch");
  std::vector<BenchCase> cases;
  for (const StepSetting& setting : kSettings)
    for (BenchCase& result : measure(setting, threads, peer, options)) cases.push_back(std::move(result));
  return cases;
}

}  // namespace veche
