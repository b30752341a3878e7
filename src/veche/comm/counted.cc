#include "veche/comm/counted.h"

#include <algorithm>

namespace veche {

void CountedEndpoint::send(NodeId to, Tag tag, Message message) {
  if (to != id()) {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(counts_, to, &Count::to);
    if (found != counts_.end())
      found->bytes += message.size();
    else if (counts_.size() < kPeersTold)
      counts_.push_back({to, message.size()});
  }
  inner_.send(to, tag, std::move(message));
}

BytesByPeer CountedEndpoint::by_peer() const {
  BytesByPeer told{};
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < counts_.size(); ++i)
    told[i] = {known_as(counts_[i].to).value, static_cast<float>(counts_[i].bytes)};
  return told;
}

}  // namespace veche
