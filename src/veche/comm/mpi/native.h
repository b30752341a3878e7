#pragma once

#include <mpi.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "veche/comm/mpi/nap.h"
#include "veche/comm/mpi/post_office.h"

namespace veche {

// Sums over all nodes by MPI's own collectives: the nodes of a rank add up among themselves, then the ranks.
// Sums are begun in the same order on every node, whatever their tags, as MPI wants it. Any thread.
class MpiSums {
 public:
  // All ranks together; every rank has a node.
  explicit MpiSums(PostOffice& office);
  ~MpiSums();

  enum class End { done, timed_out, lost };

  // Two moments, to compute in between: MPI adds up a copy, so that `data` may go away if it comes to the
  // worst.
  void begin(NodeId node, Tag tag, std::span<float> data);
  bool has_begun(NodeId node, Tag tag);
  End finish(NodeId node, Tag tag, Mailbox::Clock::time_point until);
  // All at once, in place.
  End whole(NodeId node, Tag tag, std::span<float> data, Mailbox::Clock::time_point until);

 private:
  struct Sum {
    std::vector<std::span<float>> parts;  // of the nodes here
    std::size_t come = 0;
    std::size_t left = 0;
    Message copy;
    std::vector<MPI_Request> requests;
    bool under_way = false;
    bool done = false;
  };
  using Key = std::pair<Tag, std::uint64_t>;  // which of the sums with this tag

  Key next(std::map<std::pair<NodeId, Tag>, std::uint64_t>& counts, NodeId node, Tag tag);
  std::size_t index(NodeId node) const;
  void start(Sum& sum);
  void test(Sum& sum);
  void leave(const Key& key, Sum& sum);
  void sum_now(std::span<float> data);
  bool anybody_lost() const;

  PostOffice& office_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  const std::size_t nodes_here_;
  MessagePool pool_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::map<Key, Sum> sums_;
  std::map<std::pair<NodeId, Tag>, std::uint64_t> begun_, finished_;
};

}  // namespace veche
