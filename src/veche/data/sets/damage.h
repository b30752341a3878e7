#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "veche/errors.h"

namespace veche {

// One sample cannot be used. The message names it and says why: "'train/cat/7.jpg' ends early".
class Damaged : public Error {
 public:
  using Error::Error;
};

enum class OnDamage { refuse, skip };  // the key data.bad

// What was found damaged in one data set and passed over, each sample counted once however often it is met.
// Thread-safe.
class DamageLog {
 public:
  // The first sentences are kept, all are counted.
  static constexpr std::size_t kKept = 20;

  // Damage found while opening: `samples` of them, told in one sentence.
  void add(std::string sentence, std::uint64_t samples = 1);
  std::uint64_t count() const;
  std::vector<std::string> sentences() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;               // guarded by the mutex
  std::vector<std::string> sentences_{};  // guarded by the mutex
};

// Refuses, or notes and goes on: what a reader does that has found damage while opening a set.
struct DamagePolicy {
  OnDamage on = OnDamage::refuse;
  std::shared_ptr<DamageLog> log = std::make_shared<DamageLog>();

  // Throws RequestError with the sentence under `refuse`.
  void found(const std::string& sentence, std::uint64_t samples = 1) const;
};

}  // namespace veche
