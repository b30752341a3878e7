#include "veche/comm/mailbox.h"

#include <algorithm>

namespace veche {

void Mailbox::put(NodeId from, Tag tag, Message message) {
  const MutexLock lock(mutex_);
  entries_.push_back({numbers_++, from, tag, std::move(message), true});
  call(from, tag);
}

std::uint64_t Mailbox::announce(NodeId from, Tag tag) {
  const MutexLock lock(mutex_);
  entries_.push_back({numbers_, from, tag, {}, false});
  return numbers_++;
}

void Mailbox::fill(std::uint64_t announced, Message message) {
  const MutexLock lock(mutex_);
  const auto entry = std::ranges::find(entries_, announced, &Entry::number);
  entry->message = std::move(message);
  entry->complete = true;
  call(entry->from, entry->tag);
}

std::optional<Received> Mailbox::find(std::optional<NodeId> from, Tag tag) {
  std::vector<NodeId> held;  // senders whose first message has not arrived whole: their later ones must wait
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->tag != tag || (from && entry->from != *from)) continue;
    if (!entry->complete) {
      if (from) return {};
      held.push_back(entry->from);
    } else if (std::ranges::find(held, entry->from) == held.end()) {
      Received result{Received::Outcome::message, entry->from, std::move(entry->message)};
      entries_.erase(entry);
      return result;
    }
  }
  return {};
}

std::optional<Received> Mailbox::take(std::optional<NodeId> from, Tag tag) {
  const MutexLock lock(mutex_);
  return find(from, tag);
}

bool Mailbox::expects(NodeId from, Tag tag) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(entries_,
                             [&](const Entry& entry) { return entry.from == from && entry.tag == tag; });
}

Received Mailbox::receive(std::optional<NodeId> from, Tag tag, Clock::time_point until, const Lost& lost) {
  MutexLock lock(mutex_);
  Waiter waiter{from, tag, {}};
  for (;;) {
    if (auto entry = find(from, tag)) return std::move(*entry);
    if (const auto peer = lost()) return {Received::Outcome::peer_lost, *peer, {}};
    if (wait(waiter, until) == std::cv_status::timeout && Clock::now() >= until)
      return {Received::Outcome::timed_out, from.value_or(NodeId{}), {}};
  }
}

std::optional<NodeId> Mailbox::next_loss(Tag tag, int peers, const std::function<bool(NodeId)>& alive) {
  const MutexLock lock(reported_mutex_);
  std::vector<bool>& told = reported_[tag];
  told.resize(static_cast<std::size_t>(peers));
  for (int peer = 0; peer < peers; ++peer) {
    if (told[static_cast<std::size_t>(peer)] || alive(NodeId{peer})) continue;
    told[static_cast<std::size_t>(peer)] = true;
    return NodeId{peer};
  }
  return {};
}

std::uint64_t Mailbox::event_count() const {
  const MutexLock lock(mutex_);
  return events_;
}

void Mailbox::wait_for_event(std::uint64_t seen, Clock::time_point until) {
  MutexLock lock(mutex_);
  Waiter waiter;
  while (events_ == seen && wait(waiter, until) != std::cv_status::timeout) {
  }
}

void Mailbox::wake_all() {
  const MutexLock lock(mutex_);  // otherwise a waiter that has just checked would miss it
  ++losses_;
  ++events_;
  for (Waiter* waiter : waiters_) waiter->called.notify_one();
}

std::cv_status Mailbox::wait(Waiter& waiter, Clock::time_point until) {
  waiters_.push_back(&waiter);
  const std::cv_status status = waiter.called.wait_until(mutex_, until);
  std::erase(waiters_, &waiter);
  return status;
}

void Mailbox::call(NodeId from, Tag tag) {
  ++events_;
  for (Waiter* waiter : waiters_)
    if (!waiter->tag || (*waiter->tag == tag && (!waiter->from || *waiter->from == from)))
      waiter->called.notify_one();
}

}  // namespace veche
