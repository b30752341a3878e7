#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "veche/base/module_api.h"
#include "veche/endpoint.h"
#include "veche/random.h"

namespace veche {

// The messages to one node of a seeded cluster that are under way or not read yet. Only for the
// running task.
class InFlight {
 public:
  // The message arrives at `at`, but never before earlier messages of the same sender and tag.
  void put(NodeId from, Tag tag, Message message, Time at);

  using Lost = std::function<bool(NodeId)>;
  // When `take` will return a message or a loss; kForever: not in the present state. `lost`:
  // whether a peer sends no more.
  Time due(std::optional<NodeId> from, Tag tag, const Lost& lost, int nodes) const;
  // A message or loss that has arrived by `now`; `random` chooses among senders and lost peers.
  std::optional<Received> take(std::optional<NodeId> from, Tag tag, const Lost& lost, int nodes, Time now,
                               RandomStream& random);

 private:
  struct Entry {
    Time at;
    Message message;
    std::uint64_t sum = 0;  // checksum of its bytes when it was sent
  };
  using Queue = std::deque<Entry>;

  const Queue* from(NodeId sender, Tag tag) const;
  // As `due`, for one sender.
  Time due_from(NodeId sender, Tag tag, bool anyone, const Lost& lost) const;

  std::map<Tag, std::map<NodeId, Queue>> queues_;  // none is empty
  std::map<Tag, std::set<NodeId>> reported_;       // losses already reported to waits for anyone
};

// The tag's name in a sentence: "control", or "strategy.0" for the first conversation inside one.
VECHE_MODULE_API std::string name_of(Tag tag);

}  // namespace veche
