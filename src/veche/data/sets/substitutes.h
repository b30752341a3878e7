#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <unordered_set>

#include "veche/base/thread/mutex.h"
#include "veche/data/sets/damage.h"

namespace veche {

// Reads samples of a set that may contain damaged ones. With data.bad = "skip", a damaged sample is
// replaced by the next readable sample of its class, in the order of the set, wrapping at the end.
// The replacement depends only on the set, so every run and every node sees the same, and labels
// and sizes do not change. Thread-safe.
class Substitutes {
 public:
  struct Set {
    std::size_t size = 0;
    std::function<std::int64_t(std::size_t)> label;
    std::function<std::string(std::size_t)> name;
  };
  Substitutes(Set set, DamagePolicy policy) : set_(std::move(set)), policy_(std::move(policy)) {}

  // `read(i)` throws Damaged. Throws RunError naming the sample under "refuse", or if all samples
  // of a class are damaged.
  template <class Read>
  auto read(std::size_t index, const Read& read) const {
    for (std::size_t step = 0;; ++step) {
      const std::size_t other = nth_of_class(index, step);
      try {
        return read(other);
      } catch (const Damaged& damage) {
        note(other, damage.what());
      }
    }
  }

 private:
  // The sample itself (step 0), then the following ones of its class. Throws RunError after the
  // last.
  std::size_t nth_of_class(std::size_t index, std::size_t step) const;
  void note(std::size_t index, const std::string& why) const;

  const Set set_;
  const DamagePolicy policy_;
  mutable Mutex mutex_;
  mutable std::unordered_set<std::size_t> known_ VECHE_GUARDED_BY(mutex_);  // damaged samples already counted
};

}  // namespace veche
