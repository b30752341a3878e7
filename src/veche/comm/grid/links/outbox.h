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

// The queue of one peer; it outlives connections. Messages between nodes are numbered and kept
// until acknowledged, so that messages lost with a connection are sent over the next one. Order:
// small frames, then messages, then chunks of state. Any thread; one writer.
class Outbox {
 public:
  struct Item {
    std::uint64_t number = 0;
    std::uint64_t incarnation = 0;  // the peer's incarnation that it is for
    std::uint8_t flags = 0;
    DataHead head;
    Message message;
  };
  struct Piece {
    std::string header;
    Message message;
  };

  // `wake` is called when the writer sleeps and there is work.
  explicit Outbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void put(std::string frame);
  void put(Piece piece);
  // Blocks while more than `backlog` bytes are queued, as long as `go_on` returns true. Returns the
  // message's number.
  std::uint64_t put(Item item, std::uint64_t backlog, const std::function<bool()>& go_on);

  // The peer has received all messages before this one.
  void acknowledged(std::uint64_t next);
  // Returns false after the deadline, or if the connection is lost and not restored.
  bool wait_until_acknowledged(std::uint64_t number, std::chrono::steady_clock::time_point until);
  // A new connection: sends everything from this message on (again).
  void rewind(std::uint64_t next);
  // The connection is lost: drops frames that were for it alone.
  void disconnect();
  // Drops all messages.
  void forget();
  // The peer has restarted: drops messages for its earlier incarnation; numbers start from zero.
  void start_anew(std::uint64_t incarnation);
  void forget_views_before(std::uint64_t view);

  // For the writer. An empty result means nothing to send, or not yet.
  std::string take_small();
  std::optional<Item> take_message(std::uint64_t window);
  std::optional<Piece> take_piece();
  // Returns false if there is work after all.
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
  std::deque<Item> items_ VECHE_GUARDED_BY(mutex_);          // not yet acknowledged
  std::size_t taken_ VECHE_GUARDED_BY(mutex_) = 0;           // number of items in flight, from the front
  std::uint64_t on_their_way_ VECHE_GUARDED_BY(mutex_) = 0;  // bytes
  std::uint64_t waiting_ VECHE_GUARDED_BY(mutex_) = 0;       // bytes not in flight
  std::uint64_t next_number_ VECHE_GUARDED_BY(mutex_) = 0;
  std::uint64_t acknowledged_ VECHE_GUARDED_BY(mutex_) = 0;
};

}  // namespace veche::grid
