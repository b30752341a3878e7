#include "veche/comm/sim/inbox.h"

namespace veche {

void Inbox::put(NodeId from, Tag tag, Message message) {
  OfTag& of_tag = tags_[tag];
  of_tag.queues[from].push_back({numbers_, std::move(message)});
  of_tag.arrivals.emplace_back(numbers_++, from);
}

std::optional<Received> Inbox::take(std::optional<NodeId> from, Tag tag) {
  const auto found = tags_.find(tag);
  if (found == tags_.end()) return {};
  OfTag& of_tag = found->second;
  // Messages already read by a wait for their sender.
  const auto was_read = [&](const auto& arrival) {
    const auto queue = of_tag.queues.find(arrival.second);
    return queue == of_tag.queues.end() || queue->second.front().number > arrival.first;
  };
  while (!of_tag.arrivals.empty() && was_read(of_tag.arrivals.front())) of_tag.arrivals.pop_front();
  if (of_tag.arrivals.empty()) {
    tags_.erase(found);
    return {};
  }
  const auto queue = of_tag.queues.find(from.value_or(of_tag.arrivals.front().second));
  if (queue == of_tag.queues.end()) return {};
  return taken(of_tag, queue);
}

Received Inbox::taken(OfTag& of_tag, std::map<NodeId, std::deque<Entry>>::iterator queue) {
  Received received{Received::Outcome::message, queue->first, std::move(queue->second.front().message)};
  queue->second.pop_front();
  if (queue->second.empty()) of_tag.queues.erase(queue);
  return received;
}

}  // namespace veche
