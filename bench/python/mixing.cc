#include "bench/python/mixing.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/collectives.h"
#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/errors.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

// A process's side: its x and the channel to the others.
class Rank {
 public:
  Rank(Job& job, std::size_t floats)
      : cluster_(job.cluster(job.size())),
        endpoint_(cluster_->endpoint(cluster_->here().front())),
        me_(endpoint_->id().value),
        size_(endpoint_->size()),
        ring_{(me_ + size_ - 1) % size_, me_, (me_ + 1) % size_},
        x_(floats, static_cast<float>(me_)) {}

  double seconds(int repeats) {
    mix();  // warm-up
    barrier(channel_);
    const auto start = Clock::now();
    for (int k = 0; k < repeats; ++k) mix();
    barrier(channel_);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    check();
    return took / repeats;
  }

 private:
  void mix() {
    const Message mine = pool_.copy_of(std::span<const float>(x_));
    for (const int node : ring_)
      if (node != me_) channel_.send(NodeId{node}, mine);
    std::vector<Message> kept;
    std::vector<std::span<const float>> inputs;
    for (const int node : ring_) {
      kept.push_back(node == me_ ? mine : channel_.expect(NodeId{node}, x_.size() * sizeof(float)));
      inputs.push_back(kept.back().as<float>());
    }
    const std::vector<float> weights(inputs.size(), 1.0F / static_cast<float>(inputs.size()));
    weighted_sum(x_, inputs, weights);
  }

  // The weights keep the mean of all nodes.
  void check() {
    std::array<float, 1> sum{x_.back()};
    all_reduce(channel_, sum);
    if (!(std::abs(sum[0] / static_cast<float>(size_) - static_cast<float>(size_ - 1) / 2) < 1e-4F))
      throw RunError("bench python: the exchange in C++ gave another mean than expected");
  }

  const std::unique_ptr<Cluster> cluster_;
  const std::unique_ptr<Endpoint> endpoint_;
  const int me_, size_;
  const std::set<int> ring_;
  std::vector<float> x_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  Channel channel_{*endpoint_, pool_, timeout_, Tag{1}};
};

int run_rank(const grid::FixedMembers& mine, std::size_t floats, int repeats, int told) {
  try {
    const auto job = grid::fixed_job(mine);
    const double seconds = Rank(*job, floats).seconds(repeats);
    if (mine.rank == 0 && write(told, &seconds, sizeof seconds) != sizeof seconds) return 1;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "rank " << mine.rank << ": " << error.what() << std::endl;
    return 1;
  }
}

}  // namespace

double seconds_of_mixing(int ranks, std::size_t floats, int repeats) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw RunError("bench python: there are no more pipes");
  const auto members = grid::fixed_members(ranks);
  std::vector<pid_t> children;
  for (const auto& mine : members) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (const auto& other : members)
      if (other.rank != mine.rank) close(other.listening);
    close(pipe[0]);
    _exit(run_rank(mine, floats, repeats, pipe[1]));
  }
  for (const auto& each : members) close(each.listening);
  close(pipe[1]);
  double seconds = 0;
  const bool told = read(pipe[0], &seconds, sizeof seconds) == sizeof seconds;
  close(pipe[0]);
  bool failed = !told;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed = failed || status != 0;
  }
  if (failed) throw RunError("bench python: a process of the exchange in C++ failed");
  return seconds;
}

}  // namespace veche
