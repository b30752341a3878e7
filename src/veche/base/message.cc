#include "veche/base/message.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace veche {
namespace {

constexpr std::size_t kAlignment = 64;

std::byte* allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<std::byte*>(
      ::operator new (std::max(rounded, kAlignment), std::align_val_t{kAlignment}));
}

void release(std::byte* memory) { ::operator delete (memory, std::align_val_t{kAlignment}); }

}  // namespace

struct MessagePool::Store {
  std::mutex mutex;
  std::map<std::size_t, std::vector<std::byte*>>
      free;  // by exact size: a run uses few different ones; guarded

  ~Store() {
    for (auto& [size, blocks] : free)
      for (std::byte* block : blocks) release(block);
  }

  std::byte* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex);
      if (auto found = free.find(size); found != free.end() && !found->second.empty()) {
        std::byte* block = found->second.back();
        found->second.pop_back();
        return block;
      }
    }
    return allocate(size);
  }

  void give(std::size_t size, std::byte* block) {
    const std::lock_guard lock(mutex);
    free[size].push_back(block);
  }
};

MessagePool::MessagePool() : store_(std::make_shared<Store>()) {}

Message MessagePool::make(std::size_t bytes) {
  std::byte* block = store_->take(bytes);
  return {std::shared_ptr<std::byte>(block, [store = store_, bytes](std::byte* b) { store->give(bytes, b); }),
          bytes};
}

}  // namespace veche
