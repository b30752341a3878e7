#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/errors.h"
#include "veche/settings.h"

namespace veche {

// One sample cannot be used. The message names it and the reason: "'train/cat/7.jpg' ends early".
class Damaged : public Error {
 public:
  using Error::Error;
};

// Damaged samples of one data set that were skipped. Each is counted once, however often it is
// read. Thread-safe.
class DamageLog {
 public:
  // Number of sentences kept; all damage is counted.
  static constexpr std::size_t kKept = 20;

  // Damage found while opening: one sentence for `samples` samples.
  void add(std::string sentence, std::uint64_t samples = 1);
  std::uint64_t count() const;
  std::vector<std::string> sentences() const;

 private:
  mutable Mutex mutex_;
  std::uint64_t count_ VECHE_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> sentences_ VECHE_GUARDED_BY(mutex_) = {};
};

// What to do about damage found while opening a set: refuse, or log it and continue.
struct DamagePolicy {
  OnDamage on = OnDamage::refuse;
  std::shared_ptr<DamageLog> log = std::make_shared<DamageLog>();

  // Under `refuse`: throws RequestError with the sentence.
  void found(const std::string& sentence, std::uint64_t samples = 1) const;
};

}  // namespace veche
