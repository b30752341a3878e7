#include "veche/comm/threads/meeting.h"

#include <algorithm>
#include <array>
#include <thread>

#include "veche/base/vector_math.h"

namespace veche {
namespace {

// A part of a block that stays in the first cache from being added up to being written to the last node.
constexpr std::size_t kPiece = 2048;
constexpr std::size_t kSmallestBlock = 2048;  // less is not worth waking somebody for
constexpr std::size_t kLargestBlock = 16384;
constexpr std::size_t kBlocksPerCore = 4;  // so that cores finish together
// Most waits between nodes in step are shorter than going to sleep and being woken.
constexpr int kLooksBeforeSleeping = 40;

std::size_t cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Meeting::Meeting(int nodes) : nodes_(nodes), places_(static_cast<std::size_t>(nodes)) {}

std::optional<Meeting::Missing> Meeting::all_reduce(
    NodeId me, std::span<float> data, Clock::time_point deadline,
    const std::function<std::optional<NodeId>()>& first_lost) {
  Place& place = places_[static_cast<std::size_t>(me.value)];
  const std::uint32_t operation = finished_.load(std::memory_order_acquire) + 1;
  place.data = data;
  place.operation.store(operation, std::memory_order_relaxed);
  if (arrive()) open(operation, data.size());

  for (int looks = 0;;) {
    while (work(operation)) {
    }
    if (finished(operation)) return {};
    if (++looks < kLooksBeforeSleeping) {
      std::this_thread::yield();
      continue;
    }
    const std::optional<NodeId> lost = first_lost();
    if (lost || Clock::now() >= deadline) {
      const std::optional<NodeId> absent = first_absent(operation);
      if (withdraw(operation)) return Missing{lost.value_or(absent.value_or(me)), lost.has_value()};
    }
    std::unique_lock lock(mutex_);
    const auto wakes = [&] { return finished(operation) || has_work(operation) || first_lost() != lost; };
    // Once all have come the end is near and sure, whatever the deadline says.
    if (lost || Clock::now() >= deadline)
      news_.wait(lock, wakes);
    else
      news_.wait_until(lock, deadline, wakes);
  }
}

void Meeting::wake_all() {
  { const std::lock_guard lock(mutex_); }  // else one that has just looked would miss the news
  news_.notify_all();
}

// True for the last one.
bool Meeting::arrive() {
  return Counted::of(arrived_.fetch_add(1, std::memory_order_acq_rel) + 1).count ==
         static_cast<std::uint32_t>(nodes_);
}

// False when it is too late: all have come.
bool Meeting::withdraw(std::uint32_t operation) {
  std::uint64_t seen = arrived_.load(std::memory_order_acquire);
  for (;;) {
    const Counted now = Counted::of(seen);
    if (now.operation != operation || now.count == static_cast<std::uint32_t>(nodes_)) return false;
    if (arrived_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) return true;
  }
}

void Meeting::open(std::uint32_t operation, std::size_t length) {
  arrived_.store(Counted{operation + 1, 0}.packed(), std::memory_order_release);
  const std::size_t wanted = length / (cores() * kBlocksPerCore);
  block_length_ = std::clamp(wanted, kSmallestBlock, kLargestBlock);
  const std::size_t blocks = std::max<std::size_t>(1, (length + block_length_ - 1) / block_length_);
  unfinished_.store(blocks, std::memory_order_relaxed);
  blocks_.store(Counted{operation, static_cast<std::uint32_t>(blocks)}.packed(), std::memory_order_release);
  if (blocks == 1) return;
  { const std::lock_guard lock(mutex_); }
  for (std::size_t helper = 1; helper < std::min(blocks, cores()); ++helper) news_.notify_one();
}

// Takes a block of this operation and does it; false when there is none.
bool Meeting::work(std::uint32_t operation) {
  std::uint64_t seen = blocks_.load(std::memory_order_acquire);
  for (;;) {
    const Counted now = Counted::of(seen);
    if (now.operation != operation || now.count == 0) return false;
    if (!blocks_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) continue;
    add_up(now.count - 1);
    break;
  }
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finished_.store(operation, std::memory_order_release);
    wake_all();
  }
  return true;
}

void Meeting::add_up(std::size_t block) {
  const std::size_t length = places_.front().data.size();
  const std::size_t end = std::min(length, (block + 1) * block_length_);
  std::array<float, kPiece> sum;
  std::vector<std::span<const float>> inputs(places_.size());
  const std::vector<float> ones(places_.size(), 1.0F);
  for (std::size_t from = block * block_length_; from < end; from += kPiece) {
    const std::span<float> piece = std::span(sum).first(std::min(kPiece, end - from));
    for (std::size_t i = 0; i < places_.size(); ++i) inputs[i] = places_[i].data.subspan(from, piece.size());
    weighted_sum(piece, inputs, ones);
    for (Place& place : places_)
      std::ranges::copy(piece, place.data.begin() + static_cast<std::ptrdiff_t>(from));
  }
}

bool Meeting::finished(std::uint32_t operation) const {
  // Numbers wrap around after four thousand million operations; only the distance counts.
  return static_cast<std::int32_t>(finished_.load(std::memory_order_acquire) - operation) >= 0;
}

bool Meeting::has_work(std::uint32_t operation) const {
  const Counted now = Counted::of(blocks_.load(std::memory_order_acquire));
  return now.operation == operation && now.count > 0;
}

std::optional<NodeId> Meeting::first_absent(std::uint32_t operation) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].operation.load(std::memory_order_relaxed) != operation) return NodeId{static_cast<int>(i)};
  return {};
}

}  // namespace veche
