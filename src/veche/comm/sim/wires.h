#pragma once

#include <deque>
#include <functional>
#include <list>
#include <set>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

#include "veche/comm/sim/sim.h"
#include "veche/endpoint.h"

namespace veche {

struct Envelope {
  NodeId from, to;
  Tag tag;
  Message message;
  std::uint64_t bytes = 0;  // simulated size
};

// Messages in transit between hosts. Each is a SimGrid communication that starts when it is posted,
// whether or not a receiver waits. Messages of one sender with one tag arrive in sending order. Of
// the large messages from one host to another, one moves at a time, as on a connection; those to
// different hosts share the links. Of the small ones, a few move at a time, and the next one takes
// waiting ones along in a packet of up to 64 KiB: SimGrid recomputes all rates whenever a transfer
// starts or ends, so a thousand at once would cost a thousand times as much each.
//
// Every host has a porter, an actor for the calls that SimGrid requires from an actor: it sends
// messages and removes arrived ones. SimGrid could do without (Comm::sendto), but then scans
// everything in transit at each arrival.
class Wires {
 public:
  using Deliver = std::function<void(Envelope)>;
  Wires(std::vector<simgrid::s4u::Host*> hosts, const SimNetwork& network, Deliver deliver);
  ~Wires();

  // By an actor: the message leaves at the next `leave`, which must come before time passes.
  void post(Envelope envelope) { posted_.push_back(std::move(envelope)); }
  bool has_posted() const { return !posted_.empty(); }
  // Creates the porters; outside of actors, before anything is posted.
  void start();

  // The rest in SimGrid's kernel only.
  void leave();
  // A host fails: messages to and from it start over when it returns, or are lost with it.
  void cut(NodeId host, bool for_good);
  void mend(NodeId host);
  // A link fails: messages over it start over when it returns.
  void cut(const simgrid::s4u::Link* link);
  void mend(const simgrid::s4u::Link* link);
  // Nothing will be posted any more: the porters end.
  void stop();

  // Whether a message of this conversation is still in transit.
  bool expects(NodeId from, NodeId to, Tag tag) const { return conversations_.contains({from, to, tag}); }
  // Whether something will arrive by itself.
  bool busy() const { return under_way_ > 0; }

 private:
  struct Flight {
    Envelope envelope;
    simgrid::s4u::CommPtr comm;  // while it moves, once the porter has sent it
    simgrid::s4u::Mailbox* box = nullptr;
    std::vector<Flight*> riders = {};  // small messages that travel with it
    // delayed: by jitter; queued: behind others to that host; riding: with another; resting: until
    // its host or a link returns
    enum class State { delayed, queued, moving, riding, resting, arrived, gone } state = State::delayed;
    std::list<Flight>::iterator self;
  };
  struct Spent {
    NodeId to;
    simgrid::s4u::CommPtr comm;
    simgrid::s4u::Mailbox* box = nullptr;
  };
  struct Porter {
    simgrid::s4u::ActorPtr actor;
    simgrid::s4u::SemaphorePtr bell = simgrid::s4u::Semaphore::create(0);
    std::deque<Flight*> to_start;
    std::vector<Spent> to_clear;
    // Mailboxes for arrivals at this host, one message each: SimGrid's mailboxes deliver in the
    // order of sending, not of arrival.
    std::vector<simgrid::s4u::Mailbox*> free_boxes;
    int boxes = 0;
  };
  struct Conversation {
    NodeId from, to;
    Tag tag;
    bool operator==(const Conversation&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Conversation& c) const {
      const std::uint64_t ends =
          static_cast<std::uint64_t>(c.from.value) << 32 | static_cast<std::uint32_t>(c.to.value);
      return std::hash<std::uint64_t>{}((c.tag.value ^ ends * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL);
    }
  };

  using Lanes = std::unordered_map<std::uint64_t, std::deque<Flight*>>;
  // Small messages from one host to another.
  struct Stream {
    int moving = 0;
    std::deque<Flight*> waiting;
  };

  std::uint64_t lane_of(const Envelope& envelope) const {
    const bool swapped = !duplex_ && envelope.to < envelope.from;
    const NodeId one = swapped ? envelope.to : envelope.from, other = swapped ? envelope.from : envelope.to;
    return key_of(one, other);
  }
  static std::uint64_t key_of(NodeId from, NodeId to) {
    return static_cast<std::uint64_t>(from.value) << 32 | static_cast<std::uint32_t>(to.value);
  }
  void begin(Flight& flight);
  void enter(Flight& flight);
  void enter_lane(Flight& flight);
  void enter_stream(Flight& flight);
  void leave_lane(const Flight& flight);
  void leave_stream(const Flight& flight);
  void move(Flight& flight);
  void take_off(Flight& flight);
  void begin_anew();
  bool is_blocked(NodeId from, NodeId to) const;
  bool is_blocked(const Flight& flight) const { return is_blocked(flight.envelope.from, flight.envelope.to); }
  bool goes_over(NodeId from, NodeId to, const std::set<const simgrid::s4u::Link*>& links) const;
  void work(NodeId host);
  void put_on_its_way(Flight& flight);
  void clear_away(const Spent& spent);
  void withdraw(Flight& flight);
  Porter& porter(NodeId host) { return porters_[static_cast<std::size_t>(host.value)]; }
  void arrived(Flight& flight);
  void hand_over(const Conversation& conversation);
  void forget(Flight& flight);
  bool is_away(NodeId host) const { return away_[static_cast<std::size_t>(host.value)]; }

  const std::vector<simgrid::s4u::Host*> hosts_;
  const double jitter_;
  const bool duplex_;
  const std::uint64_t seed_;
  const Deliver deliver_;
  std::vector<Envelope> posted_;
  std::list<Flight> flights_;
  std::unordered_map<Conversation, std::deque<Flight*>, Hash> conversations_;  // none is empty
  Lanes lanes_;  // large messages from one host to another; none is empty
  std::unordered_map<std::uint64_t, Stream> streams_;  // each has something in motion
  std::vector<bool> away_;
  std::set<const simgrid::s4u::Link*> down_;
  std::uint64_t numbers_ = 0;
  std::size_t under_way_ = 0;  // moving, or delayed by jitter
  std::vector<Porter> porters_;
  std::unordered_map<const void*, Flight*> moving_;  // by SimGrid's internal id of their communication
  bool stopped_ = false;
  std::vector<simgrid::s4u::CommPtr> withdrawn_;
};

}  // namespace veche
