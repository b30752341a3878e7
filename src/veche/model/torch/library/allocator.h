#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace veche::torch_model {

// Counts the memory of a set of tensors. Lives as long as the process, as a tensor may.
class MemoryAccount {
 public:
  static MemoryAccount& open();
  std::size_t most() const { return most_; }

  // While it lives, allocations of this thread are charged to the account, until any thread frees
  // them.
  class Charging {
   public:
    explicit Charging(MemoryAccount& account);
    ~Charging();
    Charging(const Charging&) = delete;
    Charging& operator=(const Charging&) = delete;
  };

  // Charges memory that was allocated elsewhere, while the result lives.
  std::shared_ptr<void> charge(std::size_t bytes);

  void take(std::size_t bytes);
  void give(std::size_t bytes) { used_ -= bytes; }

 private:
  MemoryAccount() = default;
  std::atomic<std::size_t> used_ = 0, most_ = 0;
};

// Makes libtorch allocate from our pool for the life of the process. Repeated calls have no effect.
void install_allocator();

}  // namespace veche::torch_model
