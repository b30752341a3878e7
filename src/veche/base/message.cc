#include "veche/message.h"

#include <bit>
#include <map>
#include <new>
#include <vector>

#include "veche/base/thread/mutex.h"

namespace veche {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLeastTakesBetweenSweeps = 1024;
constexpr std::size_t kTakesOfBlockBetweenSweeps = 2;

// Allocations are rounded up to a few size classes, by at most an eighth, so that messages of
// changing lengths reuse the same blocks.
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
    std::size_t never_needed = 0;  // minimum number of free blocks since the last sweep
  };

  Mutex mutex;
  std::map<std::size_t, Free> free VECHE_GUARDED_BY(mutex);  // by size
  std::size_t takes VECHE_GUARDED_BY(mutex) = 0;             // since the last sweep
  std::size_t blocks VECHE_GUARDED_BY(mutex) = 0;            // total, free or not

  ~Store() {
    for (auto& [size, kept] : free)
      for (std::byte* block : kept.blocks) release(block);
  }

  std::byte* take(std::size_t size) {
    {
      const MutexLock lock(mutex);
      // The interval grows with the number of blocks: when a thousand nodes share a pool, each of
      // them uses its blocks once per interval.
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
    const MutexLock lock(mutex);
    free[size].blocks.push_back(block);
  }

  // Frees the blocks that were never needed during a whole interval.
  void sweep() VECHE_REQUIRES(mutex) {
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
  const MutexLock lock(store_->mutex);
  std::size_t bytes = 0;
  for (const auto& [size, kept] : store_->free) bytes += size * kept.blocks.size();
  return bytes;
}

}  // namespace veche
