#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/links/frames.h"
#include "veche/endpoint.h"

namespace veche::grid {

// What is to be sent to one peer, whatever connections come and go. Messages between nodes are counted and
// kept until the peer has acknowledged them: what a broken connection lost goes over the next one. Small
// frames go first, messages then, pieces of state last. Any thread; the writer is one.
class Outbox {
 public:
  struct Item {
    std::uint64_t number = 0;
    std::uint64_t incarnation = 0;  // of the peer that it is for
    std::uint8_t flags = 0;
    DataHead head;
    Message message;
  };
  struct Piece {
    std::string header;
    Message message;
  };

  // `wake` is called when the writer sleeps and there is something for it.
  explicit Outbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void put(std::string frame);
  void put(Piece piece);
  // Waits while more than `backlog` bytes wait, as long as `go_on` says so. Returns its number.
  std::uint64_t put(Item item, std::uint64_t backlog, const std::function<bool()>& go_on);

  // The peer has all before this one.
  void acknowledged(std::uint64_t next);
  // False: not by then, or the connection is gone and not made anew.
  bool wait_until_acknowledged(std::uint64_t number, std::chrono::steady_clock::time_point until);
  // A new connection: everything from this one on is sent (again).
  void rewind(std::uint64_t next);
  // The connection is gone: what was for it alone.
  void disconnect();
  // Forgets all messages.
  void forget();
  // The peer was started anew: what was for those before it is forgotten, and counted is from zero.
  void start_anew(std::uint64_t incarnation);
  void forget_views_before(std::uint64_t view);

  // The writer's. Those that return nothing have nothing, or must not yet.
  std::string take_small();
  std::optional<Item> take_message(std::uint64_t window);
  std::optional<Piece> take_piece();
  // False: there is something after all.
  bool sleep(std::uint64_t window);

 private:
  bool may_send(std::uint64_t window) const VECHE_REQUIRES(mutex_) {
    return taken_ < items_.size() && (on_their_way_ < window || taken_ == 0);
  }
  // Releases the lock before the call. Not checked: clang does not follow a lock into a function.
  void call_writer(MutexLock& lock) VECHE_REQUIRES(mutex_) VECHE_NOT_CHECKED;
  void drop_before(std::uint64_t number) VECHE_REQUIRES(mutex_);
  void keep_only(const std::function<bool(const Item&)>& wanted) VECHE_REQUIRES(mutex_);

  const std::function<void()> wake_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool asleep_ VECHE_GUARDED_BY(mutex_) = false;
  bool connected_ VECHE_GUARDED_BY(mutex_) = false;
  std::string small_ VECHE_GUARDED_BY(mutex_);
  std::deque<Piece> pieces_ VECHE_GUARDED_BY(mutex_);
  std::deque<Item> items_ VECHE_GUARDED_BY(mutex_);          // not acknowledged yet
  std::size_t taken_ VECHE_GUARDED_BY(mutex_) = 0;           // of them, from the front: on their way
  std::uint64_t on_their_way_ VECHE_GUARDED_BY(mutex_) = 0;  // bytes
  std::uint64_t waiting_ VECHE_GUARDED_BY(mutex_) = 0;       // bytes of the others
  std::uint64_t next_number_ VECHE_GUARDED_BY(mutex_) = 0;
  std::uint64_t acknowledged_ VECHE_GUARDED_BY(mutex_) = 0;
};

}  // namespace veche::grid
