#include "veche/comm/seeded/in_flight.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "veche/comm/tags.h"

namespace veche {
namespace {

// FNV-1a.
std::uint64_t sum_of(const Message& message) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (const std::byte byte : message.bytes())
    sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ULL;
  return sum;
}

}  // namespace

void InFlight::put(NodeId from, Tag tag, Message message, Time at) {
  Queue& queue = queues_[tag][from];
  if (!queue.empty()) at = std::max(at, queue.back().at);
  const std::uint64_t sum = sum_of(message);
  queue.push_back({at, std::move(message), sum});
}

const InFlight::Queue* InFlight::from(NodeId sender, Tag tag) const {
  const auto of_tag = queues_.find(tag);
  if (of_tag == queues_.end()) return nullptr;
  const auto found = of_tag->second.find(sender);
  return found == of_tag->second.end() ? nullptr : &found->second;
}

Time InFlight::due_from(NodeId sender, Tag tag, bool anyone, const Lost& lost) const {
  if (const Queue* queue = from(sender, tag)) return queue->front().at;
  if (!lost(sender)) return kForever;
  const auto told = reported_.find(tag);
  return anyone && told != reported_.end() && told->second.contains(sender) ? kForever : Time(0);
}

Time InFlight::due(std::optional<NodeId> from, Tag tag, const Lost& lost, int nodes) const {
  if (from) return due_from(*from, tag, false, lost);
  Time earliest = kForever;
  for (int node = 0; node < nodes; ++node)
    earliest = std::min(earliest, due_from(NodeId{node}, tag, true, lost));
  return earliest;
}

std::optional<Received> InFlight::take(std::optional<NodeId> from, Tag tag, const Lost& lost, int nodes,
                                       Time now, RandomStream& random) {
  std::vector<NodeId> there;
  for (int node = 0; node < nodes; ++node)
    if ((!from || *from == NodeId{node}) && due_from(NodeId{node}, tag, !from, lost) <= now)
      there.push_back(NodeId{node});
  if (there.empty()) return {};
  const NodeId chosen = there[random.below(there.size())];
  if (this->from(chosen, tag) == nullptr) {
    if (!from) reported_[tag].insert(chosen);
    return Received{Received::Outcome::peer_lost, chosen, {}};
  }
  auto& of_tag = queues_[tag];
  Queue& queue = of_tag[chosen];
  Entry entry = std::move(queue.front());
  queue.pop_front();
  if (queue.empty()) of_tag.erase(chosen);
  if (of_tag.empty()) queues_.erase(tag);
  if (sum_of(entry.message) != entry.sum)
    throw std::logic_error("node " + std::to_string(chosen.value) + " has changed a message of " +
                           name_of(tag) + " that it had already sent");
  return Received{Received::Outcome::message, chosen, std::move(entry.message)};
}

std::string name_of(Tag tag) {
  const std::uint64_t last = tag.value & Tag::kChildren;
  if (const Tag parent{tag.value >> Tag::kChildBits}; parent.value != 0)
    return name_of(parent) + "." + std::to_string(last - 1);
  for (const auto& [known, name] : std::map<Tag, std::string>{{tags::strategy, "strategy"},
                                                              {tags::control, "control"},
                                                              {tags::samples, "samples"},
                                                              {tags::progress, "progress"},
                                                              {tags::to_coordinator, "to_coordinator"},
                                                              {tags::from_coordinator, "from_coordinator"},
                                                              {tags::pipeline, "pipeline"},
                                                              {tags::stage_control, "stage_control"},
                                                              {tags::state, "state"},
                                                              {tags::nobody, "nobody (it sleeps)"}})
    if (tag == known) return name;
  return "tag " + std::to_string(tag.value);
}

}  // namespace veche
