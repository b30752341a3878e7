#include "veche/comm/grid/links/outbox.h"

#include <utility>

namespace veche::grid {

void Outbox::call_writer(MutexLock& lock) {
  if (!asleep_) return;
  asleep_ = false;
  lock.unlock();
  wake_();
}

void Outbox::put(std::string frame) {
  MutexLock lock(mutex_);
  small_ += frame;
  call_writer(lock);
}

void Outbox::put(Piece piece) {
  MutexLock lock(mutex_);
  pieces_.push_back(std::move(piece));
  call_writer(lock);
}

std::uint64_t Outbox::put(Item item, std::uint64_t backlog, const std::function<bool()>& go_on) {
  constexpr std::chrono::milliseconds kAskAgain{20};
  MutexLock lock(mutex_);
  while (waiting_ > backlog && go_on && go_on()) changed_.wait_for(mutex_, kAskAgain);
  const std::uint64_t number = item.number = next_number_++;
  waiting_ += item.message.size();
  items_.push_back(std::move(item));
  call_writer(lock);
  return number;
}

void Outbox::drop_before(std::uint64_t number) {
  while (!items_.empty() && items_.front().number < number) {
    const std::size_t size = items_.front().message.size();
    if (taken_ > 0) {
      --taken_;
      on_their_way_ -= size;
    } else {
      waiting_ -= size;
    }
    items_.pop_front();
  }
  acknowledged_ = std::max(acknowledged_, number);
  changed_.notify_all();
}

void Outbox::acknowledged(std::uint64_t next) {
  MutexLock lock(mutex_);
  if (next > next_number_) return;  // acknowledges a message that was never sent
  drop_before(next);
  call_writer(lock);
}

bool Outbox::wait_until_acknowledged(std::uint64_t number, std::chrono::steady_clock::time_point until) {
  // A connection restored within this time was not lost.
  constexpr std::chrono::milliseconds kMadeAnew{500};
  MutexLock lock(mutex_);
  const auto arrived = [&]() VECHE_REQUIRES(mutex_) { return acknowledged_ > number; };
  while (changed_.wait_until(mutex_, until, [&]() VECHE_REQUIRES(mutex_) {
    return arrived() || !connected_;
  }) && !arrived())
    if (!changed_.wait_for(mutex_, kMadeAnew,
                           [&]() VECHE_REQUIRES(mutex_) { return arrived() || connected_; }))
      return false;
  return arrived();
}

void Outbox::rewind(std::uint64_t next) {
  MutexLock lock(mutex_);
  if (next <= next_number_) drop_before(next);
  waiting_ += on_their_way_;
  on_their_way_ = 0;
  taken_ = 0;
  connected_ = true;
  changed_.notify_all();
  call_writer(lock);
}

void Outbox::disconnect() {
  const MutexLock lock(mutex_);
  connected_ = false;
  changed_.notify_all();
  small_.clear();
  pieces_.clear();
  asleep_ = false;
}

void Outbox::forget() {
  const MutexLock lock(mutex_);
  keep_only([](const Item&) { return false; });
}

void Outbox::start_anew(std::uint64_t incarnation) {
  const MutexLock lock(mutex_);
  keep_only([&](const Item& item) { return item.incarnation >= incarnation; });
  next_number_ = acknowledged_ = 0;
  for (Item& item : items_) item.number = next_number_++;
}

void Outbox::forget_views_before(std::uint64_t view) {
  const MutexLock lock(mutex_);
  keep_only([&](const Item& item) { return item.head.view >= view || (item.flags & kAnswerAtOnce) != 0; });
}

void Outbox::keep_only(const std::function<bool(const Item&)>& wanted) {
  std::deque<Item> kept;
  std::size_t taken = 0;
  on_their_way_ = waiting_ = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!wanted(items_[i])) continue;
    (i < taken_ ? on_their_way_ : waiting_) += items_[i].message.size();
    taken += i < taken_ ? 1 : 0;
    kept.push_back(std::move(items_[i]));
  }
  items_ = std::move(kept);
  taken_ = taken;
  changed_.notify_all();
}

std::string Outbox::take_small() {
  const MutexLock lock(mutex_);
  return std::exchange(small_, {});
}

std::optional<Outbox::Item> Outbox::take_message(std::uint64_t window) {
  const MutexLock lock(mutex_);
  if (!may_send(window)) return {};
  const Item& item = items_[taken_++];
  on_their_way_ += item.message.size();
  waiting_ -= item.message.size();
  changed_.notify_all();
  return item;
}

std::optional<Outbox::Piece> Outbox::take_piece() {
  const MutexLock lock(mutex_);
  if (pieces_.empty()) return {};
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

bool Outbox::sleep(std::uint64_t window) {
  const MutexLock lock(mutex_);
  asleep_ = small_.empty() && pieces_.empty() && !may_send(window);
  return asleep_;
}

}  // namespace veche::grid
