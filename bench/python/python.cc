#include "bench/python/python.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/cluster/ddp.h"
#include "bench/python/mixing.h"
#include "bench/python/workshop.h"
#include "bench/rounds.h"
#include "veche/errors.h"

namespace veche {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kHandOverLimit = 100e-6;       // seconds a step
constexpr double kStrategyLimit = 1e-3;         // seconds a step, more than in C++
constexpr double kSmallestDifference = 0.1e-6;  // seconds; below it is noise
constexpr double kSameParameters = 1e-4;

int rounds_of(const BenchOptions& options) { return options.quick ? 1 : std::min(options.rounds, 5); }

void check_same(const Json& measured, const std::string& what) {
  if (!(measured["difference"].get<double>() <= kSameParameters))
    throw RunError("bench python: " + what + " gave another result than expected");
}

// Seconds beside a limit, as their inverses are compared.
BenchCase beside_limit(const std::vector<double>& seconds, double limit, double unit, std::string name,
                       std::string unit_name) {
  Rounds rounds(1);
  for (const double each : seconds) {
    rounds.ours(1 / std::max(each, kSmallestDifference));
    rounds.theirs(0, 1 / limit);
  }
  BenchCase result = rounds.result(0, std::move(name), std::move(unit_name), "limit", 1);
  result.value = 1 / result.value / unit;
  result.peer_value = limit / unit;
  return result;
}

BenchCase hand_over(const Workshop& workshop, const BenchOptions& options) {
  const Json measured = workshop.run({{"do", "hand-over"},
                                      {"steps", options.quick ? 20 : 200},
                                      {"rounds", options.quick ? 1 : options.rounds}});
  check_same(measured, "a handed-over step");
  return beside_limit(measured["seconds"].get<std::vector<double>>(), kHandOverLimit, 1e-6,
                      "a step handed over, one node, 65 tensors", "us");
}

std::vector<float> floats_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<float> values(fs::file_size(path) / sizeof(float));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

void compare(const std::string& ours, const std::string& theirs) {
  const std::vector<float> a = floats_of(ours), b = floats_of(theirs);
  if (a.size() != b.size() || a.empty()) throw RunError("bench python: the sides train different models");
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= kSameParameters))
      throw RunError("bench python: parameter " + std::to_string(i) + " is " + std::to_string(a[i]) +
                     ", PyTorch DDP's " + std::to_string(b[i]));
}

BenchCase beside_ddp(const Workshop& workshop, const BenchOptions& options) {
  Json request{{"model", "resnet20"}, {"batch", 32}, {"optimizer", "sgd"}, {"steps", options.quick ? 4 : 40}};
  Rounds rounds(1);
  for (int round = 0; round < rounds_of(options); ++round) {
    request["do"] = "train";
    request["save"] = workshop.file("ours");
    const Json ours = workshop.run(request, 2);
    request["save"] = workshop.file("theirs");
    const Json theirs = run_ddp_here(request, options);
    compare(workshop.file("ours"), workshop.file("theirs"));
    rounds.ours(ours["images"].get<double>() / ours["seconds"].get<double>());
    rounds.theirs(0, theirs["images"].get<double>() / theirs["seconds"].get<double>());
  }
  return rounds.result(0, "PyTorch loop, resnet20 batch 32, 2 ranks, allreduce", "images/s", "PyTorch DDP",
                       1.05);
}

// On one machine there is no network to wait for: it only must not cost much.
BenchCase overlapping(const Workshop& workshop, const BenchOptions& options) {
  Json request{{"do", "train"},
               {"model", "resnet20"},
               {"batch", 32},
               {"optimizer", "sgd"},
               {"steps", options.quick ? 4 : 40}};
  Rounds rounds(1);
  for (int round = 0; round < rounds_of(options); ++round) {
    const auto speed = [&](bool overlap) {
      request["overlap"] = overlap;
      request["save"] = workshop.file(overlap ? "ours" : "theirs");
      const Json measured = workshop.run(request, 2);
      return measured["images"].get<double>() / measured["seconds"].get<double>();
    };
    rounds.ours(speed(true));
    rounds.theirs(0, speed(false));
    compare(workshop.file("ours"), workshop.file("theirs"));
  }
  return rounds.result(0, "the same loop with overlap=True", "images/s", "without", 0.9);
}

// In turn: processes of Python, and processes without it.
BenchCase mixing(const Workshop& workshop, const BenchOptions& options) {
  constexpr int kRanks = 4, kFloats = 1'500'000;
  const int repeats = options.quick ? 2 : 20;
  const Json request{{"do", "mix"}, {"floats", kFloats}, {"repeats", repeats}};
  Rounds rounds(1);
  for (int round = 0; round < rounds_of(options); ++round) {
    const Json measured = workshop.run(request, kRanks);
    check_same(measured, "mix_");
    rounds.ours(1 / measured["seconds"].get<double>());
    rounds.theirs(0, 1 / seconds_of_mixing(kRanks, kFloats, repeats));
  }
  return rounds.result(0, "mix_ on a ring of 4 ranks, 6 MB", "1/s", "four processes in C++", 1 / 1.2);
}

BenchCase strategy(const Workshop& workshop, const BenchOptions& options) {
  const Json measured = workshop.run({{"do", "strategy"},
                                      {"floats", 100'000},
                                      {"steps", options.quick ? 20 : 200},
                                      {"rounds", options.quick ? 1 : options.rounds}});
  std::vector<double> more;
  for (const Json& each : measured["seconds"]) more.push_back(each[0].get<double>() - each[1].get<double>());
  return beside_limit(more, kStrategyLimit, 1e-3, "consensus in Python, 4 nodes: more than in C++", "ms");
}

}  // namespace

std::vector<BenchCase> bench_python(const BenchOptions& options) {
  const Workshop workshop(options);
  std::vector<BenchCase> cases;
  const auto add = [&](const std::string& name, auto measure) {
    if (options.wants(name)) cases.push_back(measure(workshop, options));
  };
  add("hand-over", hand_over);
  add("ddp", beside_ddp);
  add("overlap", overlapping);
  add("mix", mixing);
  add("strategy", strategy);
  return cases;
}

}  // namespace veche
