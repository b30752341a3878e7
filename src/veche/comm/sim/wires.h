#pragma once

#include <deque>
#include <functional>
#include <list>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

#include "veche/endpoint.h"

namespace veche {

struct Letter {
  NodeId from, to;
  Tag tag;
  Message message;
  std::uint64_t bytes = 0;  // that travel
};

// What is under way between hosts, each letter a communication of SimGrid's that begins when it was posted,
// whether or not anybody waits for it. Letters of one sender with one tag arrive in the order of sending. Of
// large ones from one host to another one moves at a time, as on a connection; those to different hosts share
// what links there are.
class Wires {
 public:
  using Deliver = std::function<void(Letter)>;
  // `jitter`: each letter leaves up to so many seconds later; a seed decides.
  Wires(std::vector<simgrid::s4u::Host*> hosts, double jitter, std::uint64_t seed, Deliver deliver);
  ~Wires();

  // By an actor: it leaves when next somebody calls `leave`, which must be before time passes.
  void post(Letter letter) { posted_.push_back(std::move(letter)); }
  bool has_posted() const { return !posted_.empty(); }

  // The rest in SimGrid's kernel only.
  void leave();
  // A host goes away: what is under way to it and from it begins anew when it is back, or is gone with it.
  void cut(NodeId host, bool for_good);
  void mend(NodeId host);

  // Whether something of this conversation is still to arrive.
  bool expects(NodeId from, NodeId to, Tag tag) const { return conversations_.contains({from, to, tag}); }
  // Something will arrive by itself.
  bool busy() const { return under_way_ > 0; }

 private:
  struct Flight {
    Wires* wires = nullptr;
    Letter letter;
    simgrid::s4u::CommPtr comm;  // while it moves
    // delayed: by jitter; queued: behind another large one; resting: until its host is back
    enum class State { delayed, queued, moving, resting, arrived, gone } state = State::delayed;
    std::list<Flight>::iterator self;
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

  static std::uint64_t lane_of(const Letter& letter) {
    return static_cast<std::uint64_t>(letter.from.value) << 32 | static_cast<std::uint32_t>(letter.to.value);
  }
  void begin(Flight& flight);
  void enter_lane(Flight& flight);
  void leave_lane(const Flight& flight);
  void move(Flight& flight);
  void arrived(Flight& flight);
  void forget(Flight& flight);
  bool is_away(NodeId host) const { return away_[static_cast<std::size_t>(host.value)]; }
  simgrid::s4u::Host* host(NodeId node) const { return hosts_[static_cast<std::size_t>(node.value)]; }

  const std::vector<simgrid::s4u::Host*> hosts_;
  const double jitter_;
  const std::uint64_t seed_;
  const Deliver deliver_;
  std::vector<Letter> posted_;
  std::list<Flight> flights_;
  std::unordered_map<Conversation, std::deque<Flight*>, Hash> conversations_;  // none is empty
  Lanes lanes_;  // large letters from one host to another; none is empty
  std::vector<bool> away_;
  std::uint64_t numbers_ = 0;
  std::size_t under_way_ = 0;                 // moving, or waiting for their jitter
  std::vector<simgrid::s4u::CommPtr> spent_;  // a communication must outlive the call that tells its end
};

}  // namespace veche
