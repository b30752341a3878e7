#include "bench/allreduce/measure.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <cmath>
#include <cstring>

#include "bench/allreduce/arena.h"
#include "bench/rounds.h"
#include "veche/comm/allreduce/allreduce_table.h"
#include "veche/comm/threads/threads.h"
#include "veche/errors.h"

namespace veche {
namespace {

using enum AllReduceAlgorithm;
constexpr std::array kAlgorithms = {all_to_all, tree, ring, halving_doubling, native};

// A round's figure is the best of several short measurements: long enough to measure, short enough
// that some are undisturbed by other programs.
constexpr double kSecondsPerLook = 0.004;
constexpr int kTriesPerRound = 8;
constexpr int kTriesPerSlowRound = 3;  // and a third of the rounds, since each takes longer
constexpr double kHopeless = 2;        // times slower in the first measurement
// from this size in bytes on, one execution is a good first measurement
constexpr std::size_t kLarge = 1 << 24;
constexpr double kAutoPromise = 1 / 1.05;
constexpr double kCopyPromise = 1 / 1.3;

// Sums of small integers are exact in any order.
float value_of(int node, std::size_t i) { return static_cast<float>((node + 1) * static_cast<int>(i % 13)); }

void nothing(Arena::Node&) {}

// Seconds of one cold execution, with its result verified.
double verified(Arena& arena, AllReduceAlgorithm algorithm) {
  const int n = arena.nodes();
  const std::size_t stride = arena.length() > 1'000'000 ? 101 : 1;
  const auto fill = [](Arena::Node& node) {
    for (std::size_t i = 0; i < node.data.size(); ++i) node.data[i] = value_of(node.channel.me().value, i);
  };
  const auto reduce = [&](Arena::Node& node) { all_reduce(node.channel, node.data, algorithm); };
  const auto check = [&](Arena::Node& node) {
    const int ones = n * (n + 1) / 2;
    for (std::size_t i = 0; i < node.data.size(); i += stride)
      if (node.data[i] != static_cast<float>(ones * static_cast<int>(i % 13)))
        throw RunError("bench allreduce: the sum by " + name_of(algorithm) + " is wrong");
    std::ranges::fill(node.data, 0.0F);  // otherwise values would overflow when repeated
  };
  return arena.seconds(1, fill, reduce, check);
}

// Bytes of vectors per second, over many executions.
double rate(Arena& arena, int repeats, const Arena::Work& work) {
  const double seconds = arena.seconds(repeats, work, work, nothing);
  return static_cast<double>(arena.length() * sizeof(float)) * repeats / seconds;
}

double rate(Arena& arena, int repeats, AllReduceAlgorithm algorithm) {
  return rate(arena, repeats, [&](Arena::Node& node) { all_reduce(node.channel, node.data, algorithm); });
}

// Seconds per execution: averaged over many, or a single long one.
double verified_seconds(Arena& arena, AllReduceAlgorithm algorithm, bool quick) {
  const double alone = verified(arena, algorithm);
  const std::size_t bytes = arena.length() * sizeof(float);
  if (bytes >= kLarge) return alone;
  double seen = 0;
  for (int sight = 0; sight < 3; ++sight) seen = std::max(seen, rate(arena, quick ? 2 : 10, algorithm));
  return static_cast<double>(bytes) / seen;
}

// Comparing an algorithm with itself would show only noise: `auto` is compared with the others.
AllReduceAlgorithm choice_of_auto(const AllReduceSetting& setting) {
  ThreadsCluster cluster(setting.nodes);
  const std::unique_ptr<Endpoint> endpoint = cluster.endpoint(NodeId{0});
  return default_table(*endpoint).choose(setting.nodes, setting.bytes);
}

// Every node copies as many bytes as an all-reduce must send, then waits for the others.
double copying_rate(Arena& arena, int repeats) {
  const auto n = static_cast<std::size_t>(arena.nodes());
  const std::size_t must_move = 2 * (n - 1) * arena.length() / n;
  std::barrier barrier(arena.nodes());
  return rate(arena, repeats, [&](Arena::Node& node) {
    for (std::size_t moved = 0; moved < must_move;) {
      const std::size_t part = std::min(node.data.size(), must_move - moved);
      std::memcpy(node.scratch.data(), node.data.data(), part * sizeof(float));
      moved += part;
    }
    barrier.arrive_and_wait();
  });
}

}  // namespace

AllReduceFigures measure_all_reduce(const AllReduceSetting& setting, const BenchOptions& options) {
  Arena arena(setting.nodes, setting.bytes / sizeof(float));
  const AllReduceAlgorithm chosen = choice_of_auto(setting);
  const double once = verified_seconds(arena, automatic, options.quick);
  verified(arena, chosen);
  std::vector<std::pair<double, AllReduceAlgorithm>> others;
  for (const AllReduceAlgorithm algorithm : kAlgorithms)
    if (algorithm != chosen)
      others.emplace_back(verified_seconds(arena, algorithm, options.quick), algorithm);
  std::ranges::sort(others);
  const double fastest = others.front().first;
  std::erase_if(others, [&](const auto& item) { return item.first > kHopeless * fastest; });
  const bool far_ahead = fastest > kHopeless * once;  // then the others are measured less often

  const int repeats = std::clamp(static_cast<int>(kSecondsPerLook / once), 1, 10000);
  const bool slow = once > kSecondsPerLook;
  const int tries = options.quick ? 1 : slow ? kTriesPerSlowRound : kTriesPerRound;
  const int count = options.quick ? 1
                    : slow        ? std::max(1, options.rounds / kTriesPerSlowRound)
                                  : options.rounds;
  Rounds rounds(others.size() + 1);
  for (int round = 0; round < count; ++round) {
    std::vector<double> best(others.size() + 2);
    for (int attempt = 0; attempt < tries; ++attempt)
      for (std::size_t turn = 0; turn < best.size(); ++turn) {
        // Alternating order: no algorithm always runs right after the same other one, with its data
        // in the caches.
        const std::size_t side = attempt % 2 == 0 ? turn : best.size() - 1 - turn;
        if (far_ahead && attempt > 0 && side > 0 && side <= others.size()) continue;
        const double seen = side == 0               ? rate(arena, repeats, automatic)
                            : side <= others.size() ? rate(arena, repeats, others[side - 1].second)
                                                    : copying_rate(arena, repeats);
        best[side] = std::max(best[side], seen / 1e9);
      }
    rounds.ours(best[0]);
    for (std::size_t i = 0; i <= others.size(); ++i) rounds.theirs(i, best[i + 1]);
  }

  const std::string name = setting.name + ", " + std::to_string(setting.nodes) + " nodes, auto";
  AllReduceFigures figures;
  BenchCase beside_best;
  for (std::size_t i = 0; i < others.size(); ++i) {
    BenchCase beside = rounds.result(i, name + " (" + name_of(chosen) + ")", "GB/s",
                                     name_of(others[i].second) + ", best other", kAutoPromise);
    if (i > 0 && beside.peer_value <= beside_best.peer_value) continue;
    beside_best = std::move(beside);
    figures.best = beside_best.ratio < 1 ? others[i].second : chosen;
  }
  figures.cases = {std::move(beside_best),
                   rounds.result(others.size(), name, "GB/s", "copying", kCopyPromise)};
  return figures;
}

}  // namespace veche
