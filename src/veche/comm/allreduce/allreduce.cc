#include "veche/comm/allreduce/allreduce.h"

#include <array>

#include "veche/base/text/nearest.h"
#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/allreduce/allreduce_table.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/parts.h"
#include "veche/errors.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Small enough that a block of every node's data and its sum stay in the first-level cache.
constexpr std::size_t kBlock = 2048;

AllReduceSteps steps_of(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::all_to_all:
      return all_to_all_steps();
    case AllReduceAlgorithm::tree:
      return tree_steps();
    case AllReduceAlgorithm::ring:
      return ring_steps();
    case AllReduceAlgorithm::halving_doubling:
      return halving_doubling_steps();
    case AllReduceAlgorithm::native:
      return native_steps();
    case AllReduceAlgorithm::automatic:
      break;
  }
  throw std::logic_error("choose an all-reduce algorithm from a table before beginning");
}

AllReduceAlgorithm chosen(const Channel& channel, std::span<const float> data, AllReduceAlgorithm algorithm,
                          bool overlapping) {
  if (algorithm != AllReduceAlgorithm::automatic) return algorithm;
  return default_table(channel.endpoint, overlapping).choose(channel.size(), data.size_bytes());
}

}  // namespace

const std::vector<std::string>& all_reduce_names() {
  static const std::vector<std::string> names = {"all-to-all",       "tree",   "ring",
                                                 "halving-doubling", "native", "auto"};
  return names;
}

AllReduceAlgorithm all_reduce_named(std::string_view name) {
  const auto& names = all_reduce_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw RequestError("there is no all-reduce algorithm '" + std::string(name) + "'" +
                       suggestion(name, names));
  return static_cast<AllReduceAlgorithm>(found - names.begin());
}

const std::string& name_of(AllReduceAlgorithm algorithm) {
  return all_reduce_names().at(static_cast<std::size_t>(algorithm));
}

void all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire) {
  algorithm = chosen(channel, data, algorithm, false);
  // An engine's own collective is fastest if nodes do not compute in between.
  EngineCollectives* const native =
      algorithm == AllReduceAlgorithm::native && channel.size() > 1 && wire == nullptr
          ? channel.endpoint.collectives()
          : nullptr;
  if (native != nullptr) return engine_all_reduce(channel, *native, data);
  begin_all_reduce(channel, data, algorithm, wire);
  complete_all_reduce(channel, data, algorithm, wire);
}

void all_reduce(Channel& channel, std::span<float> data) {
  all_reduce(channel, data, AllReduceAlgorithm::ring);
}

void all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm) {
  all_reduce(channel, data, algorithm, nullptr);
}

void begin_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm) {
  begin_all_reduce(channel, data, chosen(channel, data, algorithm, true), nullptr);
}

void complete_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm) {
  complete_all_reduce(channel, data, chosen(channel, data, algorithm, true), nullptr);
}

void begin_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire) {
  if (channel.size() > 1) steps_of(algorithm).begin(channel, data, wire);
}

void complete_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire) {
  if (channel.size() > 1) steps_of(algorithm).complete(channel, data, wire);
}

void complete_all_reduces(std::span<const PendingAllReduce> begun, AllReduceAlgorithm algorithm, Wire* wire) {
  const AllReduceSteps steps = steps_of(algorithm);
  if (begun.empty() || begun.front().channel.size() == 1) return;
  const int rounds = steps.rounds == nullptr ? 1 : steps.rounds(begun.front().channel.size());
  for (int round = 0; round < rounds; ++round)
    for (const PendingAllReduce& each : begun)
      steps.rounds == nullptr ? steps.complete(each.channel, each.data, wire)
                              : steps.round(each.channel, each.data, wire, round);
}

void sum_in_order(const Channel& channel, std::span<float> data, std::span<const Message> received,
                  Wire* wire) {
  const int me = channel.me().value;
  if (wire != nullptr) {
    const std::vector<float> mine(data.begin(), data.end());
    std::ranges::fill(data, 0.0F);
    for (std::size_t node = 0; node < received.size(); ++node) {
      if (static_cast<int>(node) == me)
        add(data, mine);
      else
        wire->add(data, received[node], NodeId{static_cast<int>(node)});
    }
    return;
  }
  const std::size_t nodes = received.size();
  std::array<float, kBlock> sum;
  std::vector<std::span<const float>> inputs(nodes);
  const std::vector<float> ones(nodes, 1.0F);
  std::vector<std::span<const float>> vectors(nodes);
  for (std::size_t node = 0; node < nodes; ++node)
    vectors[node] = static_cast<int>(node) == me
                        ? std::span<const float>(data)
                        : floats_in(channel, received[node], data.size(), NodeId{static_cast<int>(node)});
  for (std::size_t from = 0; from < data.size(); from += kBlock) {
    const std::span<float> block = data.subspan(from, std::min(kBlock, data.size() - from));
    for (std::size_t node = 0; node < nodes; ++node) inputs[node] = vectors[node].subspan(from, block.size());
    const std::span<float> out = std::span(sum).first(block.size());
    weighted_sum(out, inputs, ones);
    std::ranges::copy(out, block.begin());
  }
}

std::vector<Message> expect_all(Channel& channel) {
  const int size = channel.size();
  std::vector<Message> received(static_cast<std::size_t>(size));
  for (int away = 1; away < size; ++away) {
    const NodeId from = wrapped(channel.me().value - away, size);
    received[static_cast<std::size_t>(from.value)] = channel.expect(from);
  }
  return received;
}

}  // namespace veche
