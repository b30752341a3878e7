#include "bench/allreduce/arena.h"

#include <barrier>
#include <chrono>
#include <exception>
#include <thread>

#include "veche/comm/threads/threads.h"

namespace veche {

Arena::Arena(int nodes, std::size_t length)
    : data_(static_cast<std::size_t>(nodes), std::vector<float>(length)), scratch_(data_) {}

double Arena::seconds(int repeats, const Work& before, const Work& work, const Work& after) {
  using Clock = std::chrono::steady_clock;
  ThreadsCluster cluster(nodes());
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int i = 0; i < nodes(); ++i) endpoints.push_back(cluster.endpoint(NodeId{i}));
  std::vector<std::exception_ptr> errors(data_.size());
  std::barrier barrier(nodes());
  Clock::time_point start;
  Clock::time_point end;
  const auto run = [&](std::size_t i) {
    MessagePool pool;
    AdaptiveTimeout timeout;
    Channel channel{*endpoints[i], pool, timeout, Tag{1}};
    Node node{channel, data_[i], scratch_[i]};
    try {
      before(node);
      barrier.arrive_and_wait();
      if (i == 0) start = Clock::now();
      for (int k = 0; k < repeats; ++k) work(node);
      barrier.arrive_and_wait();
      if (i == 0) end = Clock::now();
      after(node);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < data_.size(); ++i) threads.emplace_back(run, i);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace veche
