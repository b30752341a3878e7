#include "veche/comm/threads/meeting.h"

#include <sched.h>

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
constexpr std::size_t kMostBlocks = 60000;  // they are counted in 16 bits
constexpr std::size_t kBlocksPerCore = 4;   // so that cores finish together
// Most waits are shorter than sleeping and being woken. Where the one waited for runs on another core,
// looking again and again is best: a node does so for longer each time it helped, for shorter each time it
// did not, which is so where they share a core. Then the core is offered to it a few times; more often would
// give it to strangers for long.
constexpr int kLeastPauses = 8;
constexpr int kMostPauses = 512;
constexpr int kYields = 3;

std::size_t cores() {
  static const std::size_t count = std::max(1U, std::thread::hardware_concurrency());  // asks the system
  return count;
}

// Lets the other half of a core work.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int current_core() { return std::max(0, sched_getcpu()); }

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

  // With more nodes than cores the one waited for is more likely not to run.
  const int pauses = static_cast<std::size_t>(nodes_) > cores() ? 0 : place.pauses;
  for (int looks = 0;; ++looks) {
    while (work(operation)) {
    }
    if (finished(operation)) {
      if (looks > pauses)
        place.pauses = std::max(place.pauses / 2, kLeastPauses);
      else if (looks > 0)
        place.pauses = std::min(place.pauses * 2, kMostPauses);
      return {};
    }
    if (looks < pauses + kYields) {
      looks < pauses ? pause() : std::this_thread::yield();
      continue;
    }
    const std::optional<NodeId> lost = first_lost();
    if (lost || Clock::now() >= deadline) {
      const std::optional<NodeId> absent = first_absent(operation);
      if (withdraw(operation)) return Missing{lost.value_or(absent.value_or(me)), lost.has_value()};
    }
    News::Look look(news_);
    if (finished(operation) || has_work(operation) || first_lost() != lost) continue;
    // Once all have come the end is near and sure, whatever the deadline says.
    const Clock::time_point asleep = Clock::now();
    look.sleep(lost || asleep >= deadline ? asleep + std::chrono::seconds(1) : deadline);
    place.slept += Clock::now() - asleep;
  }
}

// True for the last one.
bool Meeting::arrive() {
  Arrivals seen = arrived_.load(std::memory_order_relaxed);
  while (!arrived_.compare_exchange_weak(seen, {seen.operation, seen.count + 1}, std::memory_order_acq_rel)) {
  }
  return seen.count + 1 == static_cast<std::uint32_t>(nodes_);
}

// False when it is too late: all have come.
bool Meeting::withdraw(std::uint32_t operation) {
  Arrivals seen = arrived_.load(std::memory_order_acquire);
  do {
    if (seen.operation != operation || seen.count == static_cast<std::uint32_t>(nodes_)) return false;
  } while (!arrived_.compare_exchange_weak(seen, {operation, seen.count - 1}, std::memory_order_acq_rel));
  return true;
}

void Meeting::open(std::uint32_t operation, std::size_t length) {
  arrived_.store({operation + 1, 0}, std::memory_order_release);
  const std::size_t wanted = std::clamp(length / (cores() * kBlocksPerCore), kSmallestBlock, kLargestBlock);
  block_length_ = std::max(wanted, length / kMostBlocks + 1);
  const std::size_t blocks = std::max<std::size_t>(1, (length + block_length_ - 1) / block_length_);
  unfinished_.store(blocks, std::memory_order_relaxed);
  blocks_.store({operation, 0, static_cast<std::uint16_t>(blocks)}, std::memory_order_release);
  if (blocks > 1) news_.tell(static_cast<int>(std::min(blocks, cores())) - 1);
}

// Takes a block of this operation and does it; false when there is none. Odd and even cores take from
// different ends, so that in the next operation a core finds what it had in its cache.
bool Meeting::work(std::uint32_t operation) {
  const bool from_the_end = current_core() % 2 == 1;
  Blocks seen = blocks_.load(std::memory_order_acquire);
  Blocks left;
  do {
    if (seen.operation != operation || seen.from == seen.to) return false;
    left = seen;
    if (from_the_end)
      --left.to;
    else
      ++left.from;
  } while (!blocks_.compare_exchange_weak(seen, left, std::memory_order_acq_rel));
  add_up(from_the_end ? left.to : seen.from);
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finished_.store(operation, std::memory_order_release);
    news_.tell_all();
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
  const Blocks now = blocks_.load(std::memory_order_acquire);
  return now.operation == operation && now.from != now.to;
}

std::optional<NodeId> Meeting::first_absent(std::uint32_t operation) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].operation.load(std::memory_order_relaxed) != operation) return NodeId{static_cast<int>(i)};
  return {};
}

}  // namespace veche
