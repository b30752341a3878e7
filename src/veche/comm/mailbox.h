#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "veche/base/module/module_api.h"
#include "veche/endpoint.h"

namespace veche {

// What has arrived for one node and was not read yet. Any thread.
class VECHE_MODULE_API Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  void put(NodeId from, Tag tag, Message message);
  // For a message whose bytes are still on their way: it keeps its place in the order of sending, and is not
  // read before `fill` is called with the number returned.
  std::uint64_t announce(NodeId from, Tag tag);
  void fill(std::uint64_t announced, Message message);

  // The first message with this tag from `from`, or from anyone; nothing when there is none yet.
  std::optional<Received> take(std::optional<NodeId> from, Tag tag);
  // Whether one is on its way.
  bool expects(NodeId from, Tag tag) const;
  // Waits for it until `until`, or until `lost` names somebody who will not send any more. It is asked when
  // there is no message, with the mailbox locked, and may throw.
  using Lost = std::function<std::optional<NodeId>()>;
  Received receive(std::optional<NodeId> from, Tag tag, Clock::time_point until, const Lost& lost);

  // For those who wait for anyone: a peer that is not `alive` and that nobody was told of yet under this tag.
  // Called with or without the mailbox locked, by one thread a tag. Asks about everybody: only worth it once
  // somebody was lost.
  std::optional<NodeId> next_loss(Tag tag, int peers, const std::function<bool(NodeId)>& alive);

  // Counts everything that those who wait may wait for. Read before polling in vain, it lets them sleep
  // without missing what came in between.
  std::uint64_t event_count() const;
  void wait_for_event(std::uint64_t seen, Clock::time_point until);
  // Somebody was lost: those who wait check again.
  void wake_all();
  bool told_of_losses() const { return losses_ > 0; }

 private:
  // Few messages wait at a time, so a search in order is the fastest index, and it keeps the order of
  // sending.
  struct Entry {
    std::uint64_t number = 0;
    NodeId from;
    Tag tag;
    Message message;
    bool complete = true;
  };

  // Those who wait are woken only by what they wait for: many nodes on few cores would otherwise take the
  // cores from those who compute, in vain.
  struct Waiter {
    std::optional<NodeId> from;
    std::optional<Tag> tag;  // none: any event
    std::condition_variable called;
  };

  std::optional<Received> find(std::optional<NodeId> from, Tag tag);
  // Sleeps until called, or until `until`.
  std::cv_status wait(std::unique_lock<std::mutex>& lock, Waiter& waiter, Clock::time_point until);
  void call(NodeId from, Tag tag);

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;              // guarded by mutex_
  std::vector<Waiter*> waiters_;           // guarded by mutex_
  std::uint64_t numbers_ = 0;              // guarded by mutex_
  std::uint64_t events_ = 0;               // guarded by mutex_
  std::atomic<int> losses_ = 0;            // how often it was told of one
  std::mutex told_mutex_;                  // taken after mutex_
  std::map<Tag, std::vector<bool>> told_;  // whose loss was told; guarded by told_mutex_
};

}  // namespace veche
