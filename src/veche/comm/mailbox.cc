#include "veche/comm/mailbox.h"

#include <algorithm>

namespace veche {

void Mailbox::put(NodeId from, Tag tag, Message message) {
  const std::lock_guard lock(mutex_);
  letters_.push_back({numbers_++, from, tag, std::move(message), true});
  call(from, tag);
}

std::uint64_t Mailbox::announce(NodeId from, Tag tag) {
  const std::lock_guard lock(mutex_);
  letters_.push_back({numbers_, from, tag, {}, false});
  return numbers_++;
}

void Mailbox::fill(std::uint64_t announced, Message message) {
  const std::lock_guard lock(mutex_);
  const auto letter = std::ranges::find(letters_, announced, &Letter::number);
  letter->message = std::move(message);
  letter->complete = true;
  call(letter->from, letter->tag);
}

std::optional<Received> Mailbox::find(std::optional<NodeId> from, Tag tag) {
  std::vector<NodeId> held;  // senders whose first message is still on its way: later ones wait for it
  for (auto letter = letters_.begin(); letter != letters_.end(); ++letter) {
    if (letter->tag != tag || (from && letter->from != *from)) continue;
    if (!letter->complete) {
      if (from) return {};
      held.push_back(letter->from);
    } else if (std::ranges::find(held, letter->from) == held.end()) {
      Received result{Received::Outcome::message, letter->from, std::move(letter->message)};
      letters_.erase(letter);
      return result;
    }
  }
  return {};
}

std::optional<Received> Mailbox::take(std::optional<NodeId> from, Tag tag) {
  const std::lock_guard lock(mutex_);
  return find(from, tag);
}

bool Mailbox::expects(NodeId from, Tag tag) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(letters_,
                             [&](const Letter& letter) { return letter.from == from && letter.tag == tag; });
}

Received Mailbox::receive(std::optional<NodeId> from, Tag tag, Clock::time_point until, const Lost& lost) {
  std::unique_lock lock(mutex_);
  Waiter waiter{from, tag, {}};
  for (;;) {
    if (auto letter = find(from, tag)) return std::move(*letter);
    if (const auto peer = lost()) return {Received::Outcome::peer_lost, *peer, {}};
    if (wait(lock, waiter, until) == std::cv_status::timeout && Clock::now() >= until)
      return {Received::Outcome::timed_out, from.value_or(NodeId{}), {}};
  }
}

std::optional<NodeId> Mailbox::next_loss(Tag tag, int peers, const std::function<bool(NodeId)>& alive) {
  if (losses_ == 0) return {};
  const std::lock_guard lock(told_mutex_);
  std::vector<bool>& told = told_[tag];
  told.resize(static_cast<std::size_t>(peers));
  for (int peer = 0; peer < peers; ++peer) {
    if (told[static_cast<std::size_t>(peer)] || alive(NodeId{peer})) continue;
    told[static_cast<std::size_t>(peer)] = true;
    return NodeId{peer};
  }
  return {};
}

std::uint64_t Mailbox::news() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

void Mailbox::wait_for_news(std::uint64_t seen, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  Waiter waiter;
  while (news_ == seen && wait(lock, waiter, until) != std::cv_status::timeout) {
  }
}

void Mailbox::wake_all() {
  const std::lock_guard lock(mutex_);  // else a waiter that has just looked would miss it
  ++losses_;
  ++news_;
  for (Waiter* waiter : waiters_) waiter->called.notify_one();
}

std::cv_status Mailbox::wait(std::unique_lock<std::mutex>& lock, Waiter& waiter, Clock::time_point until) {
  waiters_.push_back(&waiter);
  const std::cv_status status = waiter.called.wait_until(lock, until);
  std::erase(waiters_, &waiter);
  return status;
}

void Mailbox::call(NodeId from, Tag tag) {
  ++news_;
  for (Waiter* waiter : waiters_)
    if (!waiter->tag || (*waiter->tag == tag && (!waiter->from || *waiter->from == from)))
      waiter->called.notify_one();
}

}  // namespace veche
