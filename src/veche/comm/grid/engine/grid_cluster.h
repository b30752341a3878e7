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

// Who sits where, for one view: the nodes of a member follow those of the seat before.
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

// The engine of one view: nodes of this member are threads, the others are reached by links. Between nodes
// here a message is a pointer. What is told by links comes by their thread.
class GridCluster : public Cluster {
 public:
  // `processes` like this one share the host.
  GridCluster(std::shared_ptr<Links> links, Seating seating, int slots, int processes = 1);

  std::vector<NodeId> here() const override;
  std::unique_ptr<Endpoint> endpoint(NodeId node) override;
  void run(const std::function<void(NodeId)>& body) override;

  // Hears, of every piece of work of a node here, how long it did not look at the view. Before `run`.
  void on_compute(std::function<void(Time took)> listener);

  const Seating& seating() const;
  // From the member of another seat. What cannot be of this view is ignored.
  void deliver(const MemberId& from, const DataHead& head, bool ended, Message message);
  // Its nodes are lost.
  void lose(const MemberId& member);
  // All waits of the nodes here throw ViewChanged from now on, and nobody is told that they end. What has
  // come already they still take.
  void end_view();

 private:
  struct Shared;
  friend class GridEndpoint;
  std::shared_ptr<Shared> shared_;
};

// Hands what arrives to the cluster of its view: of an older view it is dropped, of a newer one kept until
// that is here.
class ViewRouter {
 public:
  static constexpr std::uint64_t kMostHeld = 512U << 20;  // bytes

  // From now on; null: none yet.
  void present(std::shared_ptr<GridCluster> cluster);
  std::shared_ptr<GridCluster> present() const;
  // False: too much is held for later views.
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
