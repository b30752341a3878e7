#include <cmath>

#include "veche/comm/check_id.h"
#include "veche/comm/sim/nodes.h"
#include "veche/comm/tags.h"

// The messages of SimNodes: sending, delivery and receiving.

namespace veche {
namespace {

// Messages for monitoring and control cost nothing.
bool travels(Tag tag) {
  while (tag.value >> Tag::kChildBits != 0) tag.value >>= Tag::kChildBits;
  return tag != tags::control && tag != tags::progress && tag != tags::to_coordinator &&
         tag != tags::from_coordinator && tag != tags::stage_control;
}

}  // namespace

std::uint64_t SimNodes::travelling_bytes(const Message& message) const {
  if (network_.short_floats == 0) return message.size();
  const std::uint64_t unit = network_.short_floats * sizeof(float);
  const std::uint64_t vectors = message.size() / unit;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(vectors) * network_.long_bytes)) +
         message.size() % unit;
}

Traffic SimNodes::send(NodeId from, NodeId to, Tag tag, Message message) {
  check(from);
  check_id(to, size());
  if (!alive(to)) return {};
  const std::uint64_t bytes = travelling_bytes(message);
  Envelope envelope{from, to, tag, std::move(message), bytes};
  if (from == to || !travels(tag)) {
    deliver(std::move(envelope));
    return {};
  }
  Task& me = task();
  if (me.passes > 0)
    me.held.push_back(std::move(envelope));
  else
    wires_.post(std::move(envelope));
  return {bytes, 1};
}

void SimNodes::deliver(Envelope envelope) {
  One& to = one(envelope.to);
  if (!to.alive) return;
  to.inbox.put(envelope.from, envelope.tag, std::move(envelope.message));
  for (const auto& [number, task] : to.tasks)
    if (task->wait != nullptr && task->wait->tag == envelope.tag &&
        (!task->wait->from || *task->wait->from == envelope.from))
      ring(*task);
}

std::optional<NodeId> SimNodes::lost(NodeId me, std::optional<NodeId> from, Tag tag) {
  const auto has_sent_all = [&](NodeId peer) { return !wires_.expects(peer, me, tag); };
  if (from) return *from == me || alive(*from) || !has_sent_all(*from) ? std::nullopt : from;
  std::size_t& told = one(me).inbox.reported_losses(tag);
  while (told < lost_.size() && lost_[told] == me) ++told;
  if (told == lost_.size() || !has_sent_all(lost_[told])) return {};
  return lost_[told++];
}

Received SimNodes::receive(NodeId me, std::optional<NodeId> from, Tag tag, Time deadline) {
  if (from) check_id(*from, size());
  Task& mine = task();
  // A wait inside a pass releases the messages that the pass held back.
  for (Envelope& envelope : mine.held) wires_.post(std::move(envelope));
  mine.held.clear();
  for (bool first = true;; first = false) {
    check(me);
    if (auto there = one(me).inbox.take(from, tag)) return std::move(*there);
    if (const auto peer = lost(me, from, tag)) return {Received::Outcome::peer_lost, *peer, {}};
    if (now() < deadline) {
      wait({from, tag, deadline});
    } else if (first) {
      let_others_go();  // otherwise polling would keep other actors from sending
    } else {
      return {Received::Outcome::timed_out, from.value_or(me), {}};
    }
  }
}

}  // namespace veche
