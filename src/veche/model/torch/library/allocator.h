#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace veche::torch_model {

// How much memory somebody's tensors take. Lives as long as the process, as a tensor may.
class MemoryAccount {
 public:
  static MemoryAccount& open();
  std::size_t most() const { return most_; }

  // While it lives, what this thread allocates is on the account, until it is freed, by whomever.
  class Charging {
   public:
    explicit Charging(MemoryAccount& account);
    ~Charging();
    Charging(const Charging&) = delete;
    Charging& operator=(const Charging&) = delete;
  };

  // What others have allocated and somebody holds: on the account while the result lives.
  std::shared_ptr<void> charge(std::size_t bytes);

  void take(std::size_t bytes);
  void give(std::size_t bytes) { used_ -= bytes; }

 private:
  MemoryAccount() = default;
  std::atomic<std::size_t> used_ = 0, most_ = 0;
};

// Makes libtorch take its memory from a pool of ours, for the life of the process; calling again changes
// nothing.
void install_allocator();

}  // namespace veche::torch_model
