#include "veche/comm/shared_memory_sum.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "veche/base/machine/cores.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

constexpr std::size_t kSmallestBlock = 2048;  // less is not worth waking a node
constexpr std::size_t kLargestBlock = 16384;
constexpr std::size_t kMostBlocks = 60000;  // counted in 16 bits
constexpr std::size_t kBlocksPerCore = 4;   // so that cores finish at about the same time
// Most waits are shorter than a sleep and a wake-up. While an expected node needs this core, the
// core is yielded a few times; more often would give it to other programs for long. If all expected
// nodes run on other cores, polling is best: a node polls longer each time it helped, and shorter
// each time it did not.
constexpr int kLeastPauses = 8;
constexpr int kMostPauses = 512;
constexpr int kYields = 4;
constexpr std::chrono::milliseconds kRecheck{100};  // between checks while asleep

std::size_t cores() {
  static const auto count = static_cast<std::size_t>(usable_cores());  // a system call
  return count;
}

// Lets the other hardware thread of the core work.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::uint64_t current_core() { return static_cast<std::uint64_t>(std::max(0, sched_getcpu())); }

// The last operation that a node arrived for, and its core.
struct Coming {
  std::uint64_t operation = 0;
  std::uint64_t core = 0;

  static Coming unpacked(std::uint64_t bits) { return {bits >> 16, bits & 0xffff}; }
  std::uint64_t packed() const { return operation << 16 | (core & 0xffff); }
};

// Blocks [from, to) of an operation in one atomic number: a latecomer can never touch the next
// operation.
struct BlocksLeft {
  std::uint64_t operation = 0;  // its last 32 bits
  std::uint64_t from = 0;
  std::uint64_t to = 0;

  static BlocksLeft unpacked(std::uint64_t bits) { return {bits >> 32, bits >> 16 & 0xffff, bits & 0xffff}; }
  std::uint64_t packed() const { return operation << 32 | from << 16 | to; }
  bool left_of(std::uint64_t asked) const { return operation == (asked & 0xffffffff) && from != to; }
};

}  // namespace

std::optional<SharedMemorySum::Missing> SharedMemorySum::run(NodeId me, NodeState& node, std::size_t length,
                                                             Clock::time_point deadline, Work& work) {
  const int nodes = static_cast<int>(came_.size());
  const std::uint64_t operation = state_.finished.load(std::memory_order_acquire) + 1;
  came_[static_cast<std::size_t>(me.value)].store(Coming{operation, current_core()}.packed(),
                                                  std::memory_order_relaxed);
  if (state_.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == operation * came_.size())
    open(operation, length, work);

  for (int pauses = 0, yields = 0;;) {
    if (finished(operation)) {
      if (pauses > 0)
        node.pauses = pauses < node.pauses ? std::min(node.pauses * 2, kMostPauses)
                                           : std::max(node.pauses / 2, kLeastPauses);
      return {};
    }
    if (take_block(operation, length, work)) {
      pauses = yields = 0;
      continue;
    }
    if (yields < kYields && (pauses == node.pauses || somebody_due_here(operation))) {
      ++yields;
      std::this_thread::yield();
      continue;
    }
    if (pauses < node.pauses) {
      ++pauses;
      pause();
      continue;
    }
    const std::optional<NodeId> lost = work.first_lost();
    if (lost || Clock::now() >= deadline) {
      const std::optional<NodeId> absent = first_absent(operation);
      if (withdraw(operation) ||
          (work.between_processes() && Clock::now() >= deadline && !finished(operation)))
        return Missing{lost.value_or(absent.value_or(wrapped(me.value + 1, nodes))), lost.has_value()};
    }
    EventCount::Waiter waiter(state_.events);
    if (finished(operation) || has_work(operation) || work.first_lost() != lost) continue;
    // Once all have arrived, the end is certain and near, whatever the deadline.
    const Clock::time_point asleep = Clock::now();
    const Clock::time_point recheck = asleep + kRecheck;
    const bool sure = lost || asleep >= deadline;
    waiter.sleep(sure ? recheck : work.between_processes() ? std::min(recheck, deadline) : deadline);
    node.slept += Clock::now() - asleep;
  }
}

// Returns false if it is too late: all have arrived.
bool SharedMemorySum::withdraw(std::uint64_t operation) {
  std::uint64_t seen = state_.arrivals.load(std::memory_order_acquire);
  do {
    if (seen >= operation * came_.size()) return false;
  } while (!state_.arrivals.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel));
  return true;
}

void SharedMemorySum::open(std::uint64_t operation, std::size_t length, Work& work) {
  const std::size_t wanted = std::clamp(length / (cores() * kBlocksPerCore), kSmallestBlock, kLargestBlock);
  const std::size_t block = std::max(wanted, length / kMostBlocks + 1);
  if (length <= block) {
    work.add_up(0, length);
    return finish(operation);
  }
  const std::size_t blocks = (length + block - 1) / block;
  state_.block_length.store(block, std::memory_order_relaxed);
  state_.unfinished.store(blocks, std::memory_order_relaxed);
  state_.blocks.store(BlocksLeft{operation, 0, blocks}.packed(), std::memory_order_release);
  state_.events.notify(static_cast<int>(std::min(blocks, cores())) - 1);
}

void SharedMemorySum::finish(std::uint64_t operation) {
  state_.finished.store(operation, std::memory_order_release);
  state_.events.notify_all();
}

// Takes a block of this operation and processes it; returns false if there is none. Odd and even
// cores take from different ends, so that in the next operation a core finds its data in its cache.
bool SharedMemorySum::take_block(std::uint64_t operation, std::size_t length, Work& work) {
  std::uint64_t seen = state_.blocks.load(std::memory_order_acquire);
  if (!BlocksLeft::unpacked(seen).left_of(operation)) return false;
  const bool from_the_end = current_core() % 2 == 1;
  BlocksLeft left;
  do {
    left = BlocksLeft::unpacked(seen);
    if (!left.left_of(operation)) return false;
    from_the_end ? --left.to : ++left.from;
  } while (!state_.blocks.compare_exchange_weak(seen, left.packed(), std::memory_order_acq_rel));
  const std::size_t block = state_.block_length.load(std::memory_order_relaxed);
  const std::size_t from = block * (from_the_end ? left.to : left.from - 1);
  work.add_up(from, std::min(length, from + block));
  if (state_.unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) finish(operation);
  return true;
}

bool SharedMemorySum::has_work(std::uint64_t operation) const {
  return BlocksLeft::unpacked(state_.blocks.load(std::memory_order_acquire)).left_of(operation);
}

bool SharedMemorySum::somebody_due_here(std::uint64_t operation) const {
  const std::uint64_t here = current_core();
  return std::ranges::any_of(came_, [&](const auto& each) {
    const Coming coming = Coming::unpacked(each.load(std::memory_order_relaxed));
    return coming.core == here && coming.operation < operation;
  });
}

std::optional<NodeId> SharedMemorySum::first_absent(std::uint64_t operation) const {
  for (std::size_t i = 0; i < came_.size(); ++i)
    if (Coming::unpacked(came_[i].load(std::memory_order_relaxed)).operation != operation)
      return NodeId{static_cast<int>(i)};
  return {};
}

}  // namespace veche
