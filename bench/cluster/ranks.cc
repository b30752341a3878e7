#include "bench/cluster/ranks.h"

#include <algorithm>
#include <chrono>

#include "bench/allreduce/sizes.h"
#include "bench/cluster/program.h"
#include "bench/rounds.h"
#include "veche/base/machine/cores.h"
#include "veche/comm/allreduce/allreduce.h"
#include "veche/comm/parts.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

// Repeats per measurement: at least some milliseconds.
int repeats_of(std::size_t bytes) {
  return std::clamp(static_cast<int>((std::size_t{1} << 25) / (bytes + (1 << 16))), 1, 400);
}

// One rank's side of the benchmark.
class Bench {
 public:
  Bench(Job& job, MpiPlainSum& plain_sum, std::size_t floats)
      : cluster_(job.cluster(job.size())),
        endpoint_(cluster_->endpoint(cluster_->here().front())),
        plain_sum_(plain_sum),
        data_(floats) {}

  void verify() {
    verify([&] { sum(); });
    // 2(n-1)/n of the vector, to the float: everything except its own part once, and its own part
    // to every other rank.
    const auto n = static_cast<std::size_t>(endpoint_->size());
    const std::size_t own = part_of(std::span(data_), endpoint_->size(), endpoint_->id().value).size();
    if (channel_.sent().bytes != (data_.size() - own + (n - 1) * own) * sizeof(float))
      throw RunError("bench allreduce: a rank sends more or less than it must");
    verify([&] { plain(); });
  }

  void sum() { all_reduce(channel_, data_, AllReduceAlgorithm::automatic); }
  void plain() { plain_sum_(data_.data(), data_.size()); }

  // Bytes of vectors per second, after a barrier.
  template <class Work>
  double rate(int repeats, Work work) {
    work();
    float nothing = 0;
    plain_sum_(&nothing, 1);
    const auto start = Clock::now();
    for (int k = 0; k < repeats; ++k) work();
    const std::chrono::duration<double> took = Clock::now() - start;
    return static_cast<double>(data_.size() * sizeof(float)) * repeats / took.count() / 1e9;
  }

 private:
  template <class Work>
  void verify(Work work) {
    const int n = endpoint_->size();
    for (std::size_t i = 0; i < data_.size(); ++i)
      data_[i] = static_cast<float>((endpoint_->id().value + 1) * static_cast<int>(i % 13));
    work();
    const int ones = n * (n + 1) / 2;
    for (std::size_t i = 0; i < data_.size(); ++i)
      if (data_[i] != static_cast<float>(ones * static_cast<int>(i % 13)))
        throw RunError("bench allreduce: a sum between ranks is wrong");
    std::ranges::fill(data_, 0.0F);
  }

  const std::unique_ptr<Cluster> cluster_;
  const std::unique_ptr<Endpoint> endpoint_;
  MpiPlainSum& plain_sum_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  Channel channel_{*endpoint_, pool_, timeout_, Tag{1}};
  std::vector<float> data_;
};

}  // namespace

std::vector<BenchCase> measure_ranks(Job& job, MpiPlainSum& plain_sum, const BenchOptions& options) {
  // A round's figure is the best of several measurements: some are undisturbed by other programs.
  constexpr int kLooks = 3;
  constexpr int kShortLooks = 8;
  std::vector<BenchCase> cases;
  for (const VectorSize& size : vector_sizes(options)) {
    Bench bench(job, plain_sum, size.bytes / sizeof(float));
    bench.verify();
    const int repeats = repeats_of(size.bytes);
    Rounds rounds(1);
    for (int round = 0; round < (options.quick ? 1 : options.rounds); ++round) {
      double ours = 0;
      double theirs = 0;
      for (int turn = 0; turn < 2 * (repeats > 1 ? kShortLooks : kLooks); ++turn) {
        // Alternating order: neither side always runs second.
        if (turn % 4 == 0 || turn % 4 == 3)
          ours = std::max(ours, bench.rate(repeats, [&] { bench.sum(); }));
        else
          theirs = std::max(theirs, bench.rate(repeats, [&] { bench.plain(); }));
      }
      rounds.ours(ours);
      rounds.theirs(0, theirs);
    }
    cases.push_back(rounds.result(0, size.name + ", " + std::to_string(job.size()) + " ranks, auto", "GB/s",
                                  "MPI_Allreduce", 0.95));
  }
  return cases;
}

std::vector<BenchCase> bench_allreduce_mpi(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  for (const int ranks : node_counts(options, {2, 4, 8})) {
    std::vector<std::string> words = mpirun(ranks);
    // If every rank has a core, bind it: MPI_Allreduce busy-waits, for milliseconds if two ranks
    // share a core.
    if (ranks <= usable_cores()) std::ranges::replace(words, "none", "core");
    words.insert(words.end(), {own_path(), "bench", "allreduce", "--transport", "mpi", "--json", "--rounds",
                               std::to_string(options.rounds)});
    if (options.quick) words.emplace_back("--quick");
    for (const std::string& size : options.sizes) words.insert(words.end(), {"--sizes", size});
    const nlohmann::json answer = run_program(words);
    for (const auto& row : answer["cases"])
      cases.push_back({row["name"], row["value"], row["unit"], row["peer"], row["peer_value"], row["ratio"],
                       row["spread"], row["rounds"], row["required"]});
  }
  return cases;
}

}  // namespace veche
