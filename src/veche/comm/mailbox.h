#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "veche/base/module_api.h"
#include "veche/base/thread/mutex.h"
#include "veche/endpoint.h"

namespace veche {

// The messages that have arrived for one node and are not read yet. Thread-safe.
class VECHE_MODULE_API Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  void put(NodeId from, Tag tag, Message message);
  // Reserves the place of a message whose bytes have not arrived yet, which keeps the order of
  // sending. The message is not read before `fill` is called with the returned number.
  std::uint64_t announce(NodeId from, Tag tag);
  void fill(std::uint64_t announced, Message message);

  // Returns the first message with this tag from `from`, or from anyone, if there is one.
  std::optional<Received> take(std::optional<NodeId> from, Tag tag);
  // Whether there is a message, or one was announced.
  bool expects(NodeId from, Tag tag) const;
  // Waits for a message until `until`, or until `lost` returns a peer that will send no more.
  // `lost` is called with the mailbox locked when there is no message; it may throw.
  using Lost = std::function<std::optional<NodeId>()>;
  Received receive(std::optional<NodeId> from, Tag tag, Clock::time_point until, const Lost& lost);

  // For waits for anyone: returns a peer that is not `alive` and was not returned for this tag
  // before. Call it with or without the mailbox locked, from one thread per tag. It asks about all
  // peers: call it only when a peer was lost.
  std::optional<NodeId> next_loss(Tag tag, int peers, const std::function<bool(NodeId)>& alive);

  // The number of events so far: messages and losses. Read it before polling; wait_for_event then
  // misses nothing that happens in between.
  std::uint64_t event_count() const;
  void wait_for_event(std::uint64_t seen, Clock::time_point until);
  // A peer was lost: all waits check again.
  void wake_all();
  bool told_of_losses() const { return losses_ > 0; }

 private:
  // Few messages wait at a time: a linear search is the fastest index, and it keeps the order of
  // sending.
  struct Entry {
    std::uint64_t number = 0;
    NodeId from;
    Tag tag;
    Message message;
    bool complete = true;
  };

  // A waiting thread is woken only by the message it waits for. With many nodes on few cores,
  // useless wake-ups would take the cores from nodes that compute.
  struct Waiter {
    std::optional<NodeId> from;
    std::optional<Tag> tag;  // nullopt: any event
    ConditionVariable called;
  };

  std::optional<Received> find(std::optional<NodeId> from, Tag tag) VECHE_REQUIRES(mutex_);
  // Sleeps until notified, or until `until`.
  std::cv_status wait(Waiter& waiter, Clock::time_point until) VECHE_REQUIRES(mutex_);
  void call(NodeId from, Tag tag) VECHE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::deque<Entry> entries_ VECHE_GUARDED_BY(mutex_);
  std::vector<Waiter*> waiters_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t numbers_ VECHE_GUARDED_BY(mutex_) = 0;
  std::uint64_t events_ VECHE_GUARDED_BY(mutex_) = 0;
  std::atomic<int> losses_ = 0;                                                  // calls of wake_all
  Mutex reported_mutex_;                                                         // taken after mutex_
  std::map<Tag, std::vector<bool>> reported_ VECHE_GUARDED_BY(reported_mutex_);  // by peer: loss reported
};

}  // namespace veche
