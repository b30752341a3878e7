#include "veche/message.h"

#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace veche {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLeastTakesBetweenSweeps = 1024;
constexpr std::size_t kTakesOfBlockBetweenSweeps = 2;

// Memory is given out in few sizes, at most an eighth more than asked for, so that messages of ever changing
// lengths use the same again.
std::size_t size_class(std::size_t bytes) {
  const std::size_t grain = std::max(kAlignment, std::bit_floor(bytes) / 8);
  return (std::max<std::size_t>(bytes, 1) + grain - 1) / grain * grain;
}

std::byte* allocate(std::size_t bytes) {
  return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}));
}

void release(std::byte* memory) { ::operator delete (memory, std::align_val_t{kAlignment}); }

}  // namespace

struct MessagePool::Store {
  struct Free {
    std::vector<std::byte*> blocks;
    std::size_t never_needed = 0;  // so many were free at any time since the last sweep
  };

  std::mutex mutex;
  std::map<std::size_t, Free> free;  // by size; guarded
  std::size_t takes = 0;             // since the last sweep; guarded
  std::size_t blocks = 0;            // in all, free or not; guarded

  ~Store() {
    for (auto& [size, kept] : free)
      for (std::byte* block : kept.blocks) release(block);
  }

  std::byte* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex);
      // Where a thousand nodes share a pool, an interval is long enough for each to have needed its own.
      if (++takes >= std::max(kLeastTakesBetweenSweeps, kTakesOfBlockBetweenSweeps * blocks)) sweep();
      Free& kept = free[size];
      if (!kept.blocks.empty()) {
        std::byte* block = kept.blocks.back();
        kept.blocks.pop_back();
        kept.never_needed = std::min(kept.never_needed, kept.blocks.size());
        return block;
      }
      ++blocks;
    }
    return allocate(size);
  }

  void give(std::size_t size, std::byte* block) {
    const std::lock_guard lock(mutex);
    free[size].blocks.push_back(block);
  }

  // What a whole interval could do without is not kept for ever.
  void sweep() {
    takes = 0;
    for (auto& [size, kept] : free) {
      for (; kept.never_needed > 0; --kept.never_needed) {
        release(kept.blocks.back());
        kept.blocks.pop_back();
        --blocks;
      }
      kept.never_needed = kept.blocks.size();
    }
  }
};

MessagePool::MessagePool() : store_(std::make_shared<Store>()) {}

Message MessagePool::make(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  std::byte* block = store_->take(size);
  return {std::shared_ptr<std::byte>(block, [store = store_, size](std::byte* b) { store->give(size, b); }),
          bytes};
}

std::size_t MessagePool::kept_bytes() const {
  const std::lock_guard lock(store_->mutex);
  std::size_t bytes = 0;
  for (const auto& [size, kept] : store_->free) bytes += size * kept.blocks.size();
  return bytes;
}

}  // namespace veche
