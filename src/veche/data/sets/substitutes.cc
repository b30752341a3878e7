#include "veche/data/sets/substitutes.h"

namespace veche {

std::size_t Substitutes::nth_of_class(std::size_t index, std::size_t step) const {
  std::size_t other = index;
  for (std::size_t met = 0; met < step;) {
    other = (other + 1) % set_.size;
    if (other == index)
      throw RunError(
          fmt::format("'{}' is damaged, and so is every other sample of its class", set_.name(index)));
    if (set_.label(other) == set_.label(index)) ++met;
  }
  return other;
}

void Substitutes::note(std::size_t index, const std::string& why) const {
  const std::string sentence = fmt::format("'{}' {}", set_.name(index), why);
  if (policy_.on == OnDamage::refuse)
    throw RunError(sentence + "; data.bad = \"skip\" continues with another sample in its place");
  {
    const MutexLock lock(mutex_);
    if (!known_.insert(index).second) return;
  }
  policy_.log->add(sentence);
}

}  // namespace veche
