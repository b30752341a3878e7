#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/cluster.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/mailbox.h"
#include "veche/comm/node_threads.h"
#include "veche/comm/slots.h"

namespace veche::grid {

// The mapping of nodes to members in one view: the nodes of a member follow those of the previous
// seat.
struct Seating {
  struct Seat {
    MemberId member;
    int nodes = 1;
    std::uint64_t incarnation = 0;
    Recipient recipient() const { return {member, incarnation}; }
  };
  std::uint64_t view = 0;
  std::vector<Seat> seats;
  std::size_t mine = 0;

  int nodes() const;
  int first_of(std::size_t seat) const;
  std::size_t seat_of(NodeId node) const;  // throws std::out_of_range
};

// The engine of one view. Local nodes are threads; others are reached by links. Between local nodes
// a message is a pointer. Events of links arrive on the links thread.
class GridCluster : public Cluster {
 public:
  // `processes` processes like this one share the host.
  GridCluster(std::shared_ptr<Links> links, Seating seating, int slots, int processes = 1);

  std::vector<NodeId> here() const override;
  std::unique_ptr<Endpoint> endpoint(NodeId node) override;
  void run(const std::function<void(NodeId)>& body) override;

  // `listener` receives, for each computation of a local node, how long it did not check the view.
  // Set before `run`.
  void on_compute(std::function<void(Time took)> listener);

  const Seating& seating() const;
  // A message from another member. Ignores messages that cannot belong to this view.
  void deliver(const MemberId& from, const DataHead& head, bool ended, Message message);
  // The member's nodes are lost.
  void lose(const MemberId& member);
  // All waits of local nodes throw ViewChanged from now on, and peers are not told that the nodes
  // end. Nodes still receive messages that have arrived.
  void end_view();

 private:
  struct Shared;
  friend class GridEndpoint;
  std::shared_ptr<Shared> shared_;
};

// Passes arriving messages to the cluster of their view. Drops those of older views; keeps those of
// newer views until the view is installed.
class ViewRouter {
 public:
  static constexpr std::uint64_t kMostHeld = 512U << 20;  // bytes

  // Sets the current cluster; null: none yet.
  void present(std::shared_ptr<GridCluster> cluster);
  std::shared_ptr<GridCluster> present() const;
  // Returns false if too many messages are held for later views.
  bool deliver(const MemberId& from, const DataHead& head, bool ended, Message message);

 private:
  struct Held {
    MemberId from;
    DataHead head;
    bool ended = false;
    Message message;
  };
  mutable Mutex mutex_;
  std::shared_ptr<GridCluster> present_ VECHE_GUARDED_BY(mutex_);
  std::deque<Held> held_ VECHE_GUARDED_BY(mutex_);  // in the order of arrival
  std::uint64_t held_bytes_ VECHE_GUARDED_BY(mutex_) = 0;
};

}  // namespace veche::grid
