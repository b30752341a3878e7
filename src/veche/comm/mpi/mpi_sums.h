#pragma once

#include <mpi.h>

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/mpi/backoff.h"
#include "veche/comm/mpi/progress_engine.h"

namespace veche {

// Sums over all nodes by MPI's collectives: the nodes of a rank sum among themselves, then the
// ranks. Sums are begun in the same order on every node, whatever their tags, as MPI requires. A
// node that leaves without the sum leaves no memory of its caller to MPI or another thread; the job
// then ends. Any thread.
class MpiSums {
 public:
  using Clock = Mailbox::Clock;

  // Collective; every rank has a node.
  explicit MpiSums(ProgressEngine& progress_engine);
  ~MpiSums();

  enum class End { done, timed_out, lost };

  // In two steps, to compute in between: MPI sums a copy.
  void begin(NodeId node, Tag tag, std::span<const float> data);
  bool has_begun(NodeId node, Tag tag);
  End finish(NodeId node, Tag tag, std::span<float> data, Clock::time_point until);
  // In one step, in place if that is faster.
  End whole(NodeId node, Tag tag, std::span<float> data, Clock::time_point until);

 private:
  struct Sum {
    std::size_t come = 0;
    std::size_t left = 0;
    std::optional<End> end;
    // For begun sums: the local nodes' contributions, then the total.
    std::vector<Message> copies;
    Message total;
    std::vector<MPI_Request> requests;
    // For whole sums: the nodes' own data, and the earliest of their deadlines.
    std::vector<std::span<float>> parts;
    Clock::time_point until = Clock::time_point::max();
  };
  using Key = std::pair<Tag, std::uint64_t>;  // number among the sums with this tag

  Key next(std::map<std::pair<NodeId, Tag>, std::uint64_t>& counts, NodeId node, Tag tag);
  std::size_t index(NodeId node) const;
  void start(Sum& sum);
  void test(Sum& sum);
  void leave(const Key& key, Sum& sum) VECHE_REQUIRES(mutex_);
  End sum_now(std::span<const std::span<float>> parts, Clock::time_point until);
  End sum_copy(std::span<const std::span<float>> parts, Clock::time_point until);
  End wait(std::vector<MPI_Request>& requests, Clock::time_point until);

  ProgressEngine& progress_engine_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  const std::size_t nodes_here_;
  MessagePool pool_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::map<Key, Sum> sums_ VECHE_GUARDED_BY(mutex_);
  std::map<std::pair<NodeId, Tag>, std::uint64_t> begun_ VECHE_GUARDED_BY(mutex_);
  std::map<std::pair<NodeId, Tag>, std::uint64_t> finished_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche
