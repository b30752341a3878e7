#include "veche/group.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace veche {
namespace {

class GroupEndpoint : public Endpoint {
 public:
  GroupEndpoint(Endpoint& whole, std::vector<NodeId> members)
      : Endpoint({rank_in(members, whole.id()), static_cast<int>(members.size()), names(whole, members)}),
        whole_(whole),
        members_(std::move(members)) {}

  void send(NodeId to, Tag tag, Message message) override {
    count_sent({message.size(), 1});
    whole_.send(member(to), tag, std::move(message));
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    for (;;) {
      Received received = whole_.receive(from ? std::optional(member(*from)) : std::nullopt, tag, deadline);
      // A wait for any node reports all losses; losses outside the group are ignored.
      if (received.outcome == Received::Outcome::peer_lost && !is_member(received.from)) continue;
      received.from = rank(received.from);
      return received;
    }
  }

  void flush() override { whole_.flush(); }
  Time now() const override { return whole_.now(); }
  bool alive(NodeId peer) const override { return whole_.alive(member(peer)); }
  void spawn(std::function<void()> helper) override { whole_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return whole_.compute(what, work);
  }

 private:
  NodeId member(NodeId rank) const { return members_.at(static_cast<std::size_t>(rank.value)); }
  bool is_member(NodeId node) const { return std::ranges::find(members_, node) != members_.end(); }
  NodeId rank(NodeId node) const { return rank_in(members_, node); }
  static NodeId rank_in(const std::vector<NodeId>& members, NodeId node) {
    const auto found = std::ranges::find(members, node);
    if (found == members.end())
      throw std::invalid_argument("node " + std::to_string(node.value) + " is not in the group");
    return NodeId{static_cast<int>(found - members.begin())};
  }
  static std::vector<NodeId> names(const Endpoint& whole, const std::vector<NodeId>& members) {
    std::vector<NodeId> names;
    for (const NodeId member : members) names.push_back(whole.known_as(member));
    return names;
  }

  Endpoint& whole_;
  const std::vector<NodeId> members_;
};

}  // namespace

std::unique_ptr<Endpoint> make_group(Endpoint& whole, std::vector<NodeId> members) {
  return std::make_unique<GroupEndpoint>(whole, std::move(members));
}

}  // namespace veche
