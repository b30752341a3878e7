#include "veche/comm/mailbox.h"

#include <algorithm>
#include <vector>

namespace veche {

void Mailbox::put(NodeId from, Tag tag, Message message) {
  {
    const std::lock_guard lock(mutex_);
    letters_.push_back({numbers_++, from, tag, std::move(message), true});
    ++news_;
  }
  changed_.notify_all();
}

std::uint64_t Mailbox::announce(NodeId from, Tag tag) {
  const std::lock_guard lock(mutex_);
  letters_.push_back({numbers_, from, tag, {}, false});
  return numbers_++;
}

void Mailbox::fill(std::uint64_t announced, Message message) {
  {
    const std::lock_guard lock(mutex_);
    const auto letter = std::ranges::find(letters_, announced, &Letter::number);
    letter->message = std::move(message);
    letter->complete = true;
    ++news_;
  }
  changed_.notify_all();
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

Received Mailbox::receive(std::optional<NodeId> from, Tag tag, Clock::time_point until,
                          const std::function<bool()>& lost) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (auto letter = find(from, tag)) return std::move(*letter);
    if (from && lost()) return {Received::Outcome::peer_lost, *from, {}};
    if (changed_.wait_until(lock, until) == std::cv_status::timeout && Clock::now() >= until)
      return {Received::Outcome::timed_out, from.value_or(NodeId{}), {}};
  }
}

std::uint64_t Mailbox::news() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

void Mailbox::wait_for_news(std::uint64_t seen, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return news_ != seen; });
}

void Mailbox::wake_all() {
  {
    const std::lock_guard lock(mutex_);  // else a waiter that has just looked would miss it
    ++news_;
  }
  changed_.notify_all();
}

}  // namespace veche
