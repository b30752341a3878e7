#include "veche/data/sets/damage.h"

namespace veche {

void DamageLog::add(std::string sentence, std::uint64_t samples) {
  const MutexLock lock(mutex_);
  count_ += samples;
  if (sentences_.size() < kKept) sentences_.push_back(std::move(sentence));
}

std::uint64_t DamageLog::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

std::vector<std::string> DamageLog::sentences() const {
  const MutexLock lock(mutex_);
  return sentences_;
}

void DamagePolicy::found(const std::string& sentence, std::uint64_t samples) const {
  if (on == OnDamage::refuse) throw RequestError(sentence + "; data.bad = \"skip\" skips damaged samples");
  log->add(sentence, samples);
}

}  // namespace veche
