#pragma once

#include <deque>
#include <map>
#include <optional>

#include "veche/endpoint.h"

namespace veche {

// Messages that have arrived at a simulated node and were not read, in order of arrival.
class Inbox {
 public:
  void put(NodeId from, Tag tag, Message message);
  // The first with this tag from `from`, or from any node.
  std::optional<Received> take(std::optional<NodeId> from, Tag tag);
  // For waits on any node: the number of losses reported under this tag.
  std::size_t& reported_losses(Tag tag) { return reported_[tag]; }

 private:
  struct Entry {
    std::uint64_t number = 0;
    Message message;
  };
  struct OfTag {
    std::map<NodeId, std::deque<Entry>> queues;             // none is empty
    std::deque<std::pair<std::uint64_t, NodeId>> arrivals;  // some are already read
  };
  Received taken(OfTag& of_tag, std::map<NodeId, std::deque<Entry>>::iterator queue);

  std::uint64_t numbers_ = 0;
  std::map<Tag, OfTag> tags_;
  std::map<Tag, std::size_t> reported_;
};

}  // namespace veche
