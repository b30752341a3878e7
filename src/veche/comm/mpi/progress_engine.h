#pragma once

#include <mpi.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/mailbox.h"
#include "veche/comm/mpi/backoff.h"
#include "veche/comm/mpi/job_state.h"

namespace veche {

// The placement of nodes on ranks: blocks, as even as possible.
struct Placement {
  int nodes = 0;
  int ranks = 1;
  int rank = 0;  // this rank

  int first_of(int rank) const;
  int first_here() const { return first_of(rank); }
  int nodes_here() const { return first_of(rank + 1) - first_of(rank); }
  int rank_of(NodeId node) const;
  bool is_here(NodeId node) const { return rank_of(node) == rank; }
};

// Everything between the nodes of this rank and MPI. A message is sent as an envelope: a header,
// with the bytes if they are few; otherwise the bytes follow separately, directly from the sender's
// buffer into the reader's. Envelopes of a rank arrive in sending order. Any thread may send and
// poll; a waiter polls, and a separate thread polls occasionally while all nodes compute.
class ProgressEngine {
 public:
  // Collective. Owns the communicator.
  ProgressEngine(MPI_Comm comm, Placement placement, bool oversubscribed, JobState& job);
  // Collective: returns when every node of every rank has left.
  ~ProgressEngine();

  const Placement& placement() const { return placement_; }
  bool oversubscribed() const { return oversubscribed_; }
  JobState& job() const { return job_; }
  MPI_Comm comm() const { return comm_; }
  Mailbox& mailbox(NodeId local);
  bool alive(NodeId node) const {
    return alive_.at(static_cast<std::size_t>(node.value)) &&
           (job_.failed < 0 || job_.failed != placement_.rank_of(node));
  }
  std::optional<NodeId> first_lost() const;

  void send(NodeId from, NodeId to, Tag tag, Message message);
  // A local node ends: the others learn it after its last messages. Once is enough.
  void leave(NodeId node);
  // Polls MPI once; returns true if something completed.
  bool poll();

  std::atomic<int> sums_under_way = 0;  // which MPI advances only when polled

 private:
  struct Header;
  struct Arriving {
    NodeId to;
    std::uint64_t announced = 0;
    Message message;
    int parts = 1;  // pending requests of this message
  };

  void post(int rank, const Header& header, std::span<const std::byte> inside, const Message& keep)
      VECHE_REQUIRES(mutex_);
  bool read_envelopes() VECHE_REQUIRES(mutex_);
  void read(const std::byte* envelope, int from_rank) VECHE_REQUIRES(mutex_);
  bool finish_arriving() VECHE_REQUIRES(mutex_);
  bool finish_sending() VECHE_REQUIRES(mutex_);
  bool mark_gone(NodeId node);  // returns whether it was alive
  void poll_in_background(const std::stop_token& stop);
  bool under_way();  // messages
  bool idle();

  const MPI_Comm comm_;
  const Placement placement_;
  const bool oversubscribed_;
  JobState& job_;
  std::deque<Mailbox> mailboxes_;  // of the local nodes; each guards itself
  std::vector<std::atomic<bool>> alive_;
  MessagePool pool_;

  Mutex mutex_;  // taken before a mailbox's
  // Receives that wait for envelopes, in a ring, the next to complete at next_envelope_.
  // Then messages in transit: requests, and beside each what it is for.
  std::vector<Message> envelopes_ VECHE_GUARDED_BY(mutex_);
  std::vector<MPI_Request> envelope_requests_ VECHE_GUARDED_BY(mutex_);
  std::size_t next_envelope_ VECHE_GUARDED_BY(mutex_) = 0;
  std::vector<MPI_Request> arriving_requests_ VECHE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Arriving>> arriving_ VECHE_GUARDED_BY(mutex_);
  std::vector<MPI_Request> sending_requests_ VECHE_GUARDED_BY(mutex_);
  std::vector<Message> sending_ VECHE_GUARDED_BY(mutex_);
  std::vector<int> finished_ VECHE_GUARDED_BY(mutex_);  // scratch

  std::jthread poller_;
};

}  // namespace veche
