#include "veche/comm/group/group.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace veche {
namespace {

class GroupEndpoint : public Endpoint {
 public:
  GroupEndpoint(Endpoint& whole, std::vector<NodeId> members)
      : whole_(whole), members_(std::move(members)), me_(rank(whole.id())) {}

  NodeId id() const override { return me_; }
  int size() const override { return static_cast<int>(members_.size()); }
  NodeId known_as(NodeId peer) const override { return whole_.known_as(member(peer)); }

  void send(NodeId to, Tag tag, Message message) override {
    sent_bytes_ += message.size();
    sent_messages_ += 1;
    whole_.send(member(to), tag, std::move(message));
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    for (;;) {
      Received received = whole_.receive(from ? std::optional(member(*from)) : std::nullopt, tag, deadline);
      // Who waits for anyone hears of all losses: those of others are no concern of the group.
      if (received.outcome == Received::Outcome::peer_lost && !is_member(received.from)) continue;
      received.from = rank(received.from);
      return received;
    }
  }

  void flush() override { whole_.flush(); }
  Time now() const override { return whole_.now(); }
  bool alive(NodeId peer) const override { return whole_.alive(member(peer)); }
  Traffic sent() const override { return {sent_bytes_, sent_messages_}; }
  void spawn(std::function<void()> helper) override { whole_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return whole_.compute(what, work);
  }

 private:
  NodeId member(NodeId rank) const { return members_.at(static_cast<std::size_t>(rank.value)); }
  bool is_member(NodeId node) const { return std::ranges::find(members_, node) != members_.end(); }
  NodeId rank(NodeId node) const {
    const auto found = std::ranges::find(members_, node);
    if (found == members_.end())
      throw std::invalid_argument("node " + std::to_string(node.value) + " is not in the group");
    return NodeId{static_cast<int>(found - members_.begin())};
  }

  Endpoint& whole_;
  const std::vector<NodeId> members_;
  const NodeId me_;
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> sent_messages_ = 0;
};

}  // namespace

std::unique_ptr<Endpoint> make_group(Endpoint& whole, std::vector<NodeId> members) {
  return std::make_unique<GroupEndpoint>(whole, std::move(members));
}

}  // namespace veche
