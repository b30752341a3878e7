#include "extension/buffers.h"

#include <algorithm>
#include <vector>

#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/vector_math.h"

namespace veche::python {
namespace {

void average(Channel& channel, std::span<float> mine, bool active) {
  std::vector<float> sum(mine.size() + 1);  // the last one counts nodes
  if (active) {
    std::ranges::copy(mine, sum.begin());
    sum.back() = 1;
  }
  all_reduce(channel, sum);
  if (sum.back() == 0) return;
  std::ranges::copy(std::span(sum).first(mine.size()), mine.begin());
  scale(mine, 1 / sum.back());
}

void broadcast_first(Channel& channel, std::span<float> mine, bool active) {
  const std::vector<Message> all = all_gather(channel, channel.pool.copy_of_item(active));
  for (int node = 0; node < channel.size(); ++node)
    if (unpack_item<bool>(all[static_cast<std::size_t>(node)], NodeId{node}, "whether a node trains"))
      return broadcast(channel, NodeId{node}, mine);
}

}  // namespace

Buffers buffers_of(const std::string& name) {
  if (name == "own") return Buffers::own;
  if (name == "average") return Buffers::average;
  if (name == "broadcast") return Buffers::broadcast;
  throw RequestError("buffers = '" + name + "' does not exist; choose own, average or broadcast");
}

void exchange_buffers(Channel& channel, std::span<float> mine, Buffers how, bool active) {
  if (how == Buffers::average) average(channel, mine, active);
  if (how == Buffers::broadcast) broadcast_first(channel, mine, active);
}

}  // namespace veche::python
