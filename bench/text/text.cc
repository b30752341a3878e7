#include "bench/text/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/peer.h"
#include "bench/rounds.h"
#include "bench/text/ranks.h"
#include "bench/text/task.h"
#include "veche/errors.h"

namespace veche {

extern const char kTextPeer[];  // the text of peer.py

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr int kCheckedSteps = 4;
constexpr double kTolerance = 1e-3;  // of the losses of these steps
constexpr std::size_t kPrompt = 8;   // tokens

struct TextSetting {
  const char* model;
  int batch;
  int steps;  // per side and round
  double training;
  double generation;  // the promised ratios
};

constexpr TextSetting kSettings[] = {
    {"gpt-nano", 12, 16, 1.5, 3},
    {"gpt-mini", 4, 2, 1.2, 0},
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string name_of(const TextSetting& setting, const char* what) {
  return std::string(setting.model) + ", " + what;
}

void check_losses(const std::vector<double>& ours, const json& theirs, const TextSetting& setting) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto other = theirs.at(i).get<double>();
    if (!(std::abs(ours[i] - other) <= kTolerance * other))
      throw RunError("bench text: the losses of '" + std::string(setting.model) + "' differ at step " +
                     std::to_string(i) + ": " + std::to_string(ours[i]) + " against " +
                     std::to_string(other));
  }
}

BenchCase measure_training(const TextSetting& setting, TextTask& task, Peer& peer,
                           const BenchOptions& options) {
  const auto theirs = [&](int steps) { return peer.ask({{"do", "run"}, {"steps", steps}}); };
  check_losses(task.train(kCheckedSteps), theirs(kCheckedSteps)["losses"], setting);
  const int steps = options.quick ? 1 : setting.steps;
  const double tokens = static_cast<double>(steps) * setting.batch * static_cast<double>(task.context());
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 2 : options.rounds); ++round) {
    const auto start = Clock::now();
    task.train(steps);
    rounds.ours(tokens / seconds_since(start));
    rounds.theirs(0, tokens / theirs(steps)["seconds"].get<double>());
  }
  return rounds.result(0, name_of(setting, ("training, batch " + std::to_string(setting.batch)).c_str()),
                       "tokens/s", "PyTorch", setting.training);
}

// With the weights that both sides begin with. The likeliest token decides what follows, so the two
// texts are equal.
BenchCase measure_generation(const TextSetting& setting, TextTask& task, Peer& peer,
                             const BenchOptions& options) {
  const std::vector<std::int32_t> prompt = task.prompt(kPrompt);
  const auto count = options.quick ? std::size_t{8} : task.context() - kPrompt;
  const json request{{"do", "continue"}, {"prompt", prompt}, {"tokens", count}};
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 2 : options.rounds); ++round) {
    const auto start = Clock::now();
    const std::vector<std::int32_t> ours = task.go_on(prompt, count);
    rounds.ours(static_cast<double>(count) / seconds_since(start));
    const json theirs = peer.ask(request);
    if (theirs["tokens"].get<std::vector<std::int32_t>>() != ours)
      throw RunError("bench text: the two sides continue a text of '" + std::string(setting.model) +
                     "' differently");
    rounds.theirs(0, static_cast<double>(count) / theirs["seconds"].get<double>());
  }
  return rounds.result(0, name_of(setting, "generation of one text"), "tokens/s", "PyTorch with a cache",
                       setting.generation);
}

}  // namespace

std::vector<BenchCase> bench_text(const BenchOptions& options) {
  Peer peer(options.python.empty() ? VECHE_PYTHON : options.python, kTextPeer, "python3-torch");
  std::vector<BenchCase> cases;
  for (const TextSetting& setting : kSettings) {
    if (!options.wants(setting.model)) continue;
    TextTask task(setting.model, static_cast<std::size_t>(setting.batch));
    peer.ask(task.request());
    cases.push_back(measure_generation(setting, task, peer, options));
    cases.push_back(measure_training(setting, task, peer, options));
  }
  if (options.wants("gpt-nano, 2 ranks")) cases.push_back(text_on_two_ranks(options));
  return cases;
}

}  // namespace veche
