#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "veche/base/module/module_api.h"
#include "veche/endpoint.h"
#include "veche/random.h"

namespace veche {

// What is under way to one node of a seeded cluster, or has come and was not read. For whoever has the baton.
class InFlight {
 public:
  // Arrives at `at`, but never before what the sender has sent under this tag.
  void put(NodeId from, Tag tag, Message message, Time at);

  using Lost = std::function<bool(NodeId)>;
  // When `take` will have something: a message, or a loss; kForever: not as things are. `lost` tells who will
  // not send any more.
  Time due(std::optional<NodeId> from, Tag tag, const Lost& lost, int nodes) const;
  // What has come by `now`: of several senders, and of those lost, `random` chooses one.
  std::optional<Received> take(std::optional<NodeId> from, Tag tag, const Lost& lost, int nodes, Time now,
                               RandomStream& random);

 private:
  struct Entry {
    Time at;
    Message message;
    std::uint64_t sum = 0;  // of its bytes, when it was sent
  };
  using Queue = std::deque<Entry>;

  const Queue* from(NodeId sender, Tag tag) const;
  // As `due`, of one sender.
  Time due_from(NodeId sender, Tag tag, bool anyone, const Lost& lost) const;

  std::map<Tag, std::map<NodeId, Queue>> queues_;  // none is empty
  std::map<Tag, std::set<NodeId>> told_;           // whose loss was told to who waits for anyone
};

// Its name in a sentence: "control", or "strategy.0" for the first conversation inside one.
VECHE_MODULE_API std::string name_of(Tag tag);

}  // namespace veche
