#include "veche/model/torch/library/allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <unordered_map>
#include <vector>

#include "veche/base/thread/mutex.h"

namespace veche::torch_model {
namespace {

// thread-local, since libtorch calls allocators without context
thread_local MemoryAccount* charged = nullptr;

// Keeps freed blocks by size and reuses them, most recent first. A training step requests the same
// sizes as the previous step, of this learner or another. So activations are not mapped and zeroed
// by the kernel again, and idle learners hold none.
class Pool {
 public:
  void* take(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    {
      const MutexLock lock(mutex_);
      used_ += size;
      most_used_ = std::max(most_used_, used_);
      if (auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
        Block* block = found->second.back();
        found->second.pop_back();
        kept_ -= size;
        charge(*block);
        return block + 1;
      }
    }
    void* memory = std::aligned_alloc(alignof(Block), sizeof(Block) + size);
    if (memory == nullptr) throw std::bad_alloc();
    Block* block = new (memory) Block{size};
    charge(*block);
    return block + 1;
  }

  void give(void* data) {
    Block* block = static_cast<Block*>(data) - 1;
    if (block->account != nullptr) block->account->give(block->size);
    const MutexLock lock(mutex_);
    used_ -= block->size;
    // Sizes of a finished phase would fill the pool for ever: start over rather than choose. The
    // blocks of a large batch's step are all kept; otherwise the next step would spend a sixth of
    // its time in the kernel. Its sizes peak at different times, so it needs more blocks than are
    // in use at once.
    if (kept_ + block->size > std::max(kKeep, most_used_ + most_used_ / 2)) clear();
    kept_ += block->size;
    free_[block->size].push_back(block);
  }

 private:
  // Precedes the data and keeps it aligned for vector instructions.
  struct alignas(64) Block {
    std::size_t size;
    MemoryAccount* account = nullptr;
  };
  static void charge(Block& block) {
    block.account = charged;
    if (charged != nullptr) charged->take(block.size);
  }
  static constexpr std::size_t kKeep = std::size_t{512} << 20;

  // Rounds up by at most an eighth, so that similar sizes share blocks.
  static std::size_t rounded(std::size_t bytes) {
    const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
  }

  void clear() VECHE_REQUIRES(mutex_) {
    for (auto& [size, blocks] : free_)
      for (Block* block : blocks) std::free(block);
    free_.clear();
    kept_ = 0;
  }

  Mutex mutex_;
  std::unordered_map<std::size_t, std::vector<Block*>> free_ VECHE_GUARDED_BY(mutex_);
  std::size_t kept_ VECHE_GUARDED_BY(mutex_) = 0;  // bytes in free_
  std::size_t used_ VECHE_GUARDED_BY(mutex_) = 0;  // bytes given out
  std::size_t most_used_ VECHE_GUARDED_BY(mutex_) = 0;
};

// libtorch identifies allocators by address and frees through a plain function for the life of the
// process, so this object must be global. It is never destroyed.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

void give_back(void* data) {
  if (data != nullptr) pool().give(data);
}

class PooledAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    void* data = bytes == 0 ? nullptr : pool().take(bytes);
    return {data, data, &give_back, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
};

}  // namespace

MemoryAccount& MemoryAccount::open() { return *new MemoryAccount; }

void MemoryAccount::take(std::size_t bytes) {
  const std::size_t now = used_ += bytes;
  for (std::size_t most = most_; most < now && !most_.compare_exchange_weak(most, now);) {
  }
}

std::shared_ptr<void> MemoryAccount::charge(std::size_t bytes) {
  take(bytes);
  return {this, [bytes](void* account) { static_cast<MemoryAccount*>(account)->give(bytes); }};
}

MemoryAccount::Charging::Charging(MemoryAccount& account) { charged = &account; }
MemoryAccount::Charging::~Charging() { charged = nullptr; }

void install_allocator() {
  static const bool done = [] {
    c10::SetCPUAllocator(new PooledAllocator, /*priority=*/1);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace veche::torch_model
