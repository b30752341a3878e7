#include "veche/train/loop/sample_exchange.h"

#include <algorithm>

#include "veche/collectives.h"
#include "veche/data/feed/shuffle.h"

namespace veche {
namespace {

std::vector<std::uint32_t> homes(const Partition& home, std::size_t samples) {
  std::vector<std::uint32_t> result(samples);
  for (std::size_t node = 0; node < home.size(); ++node)
    for (const std::uint32_t sample : home[node]) result[sample] = static_cast<std::uint32_t>(node);
  return result;
}

}  // namespace

SampleExchange::SampleExchange(Channel& channel, std::shared_ptr<const Dataset> data, Plan plan)
    : channel_(channel),
      data_(std::move(data)),
      plan_(std::move(plan)),
      home_of_(homes(plan_.home, data_->size())),
      visited_(with_visitors(data_, borrowed_)) {
  if (alone()) return;
  const auto me = static_cast<std::size_t>(plan_.stands_for.front());
  for (std::uint64_t epoch = 0; epoch < plan_.first_step / plan_.steps_per_epoch; ++epoch) {
    const Partition then = division(plan_.home, plan_.exchanged, plan_.seed, epoch);
    for (std::size_t other = 0; other < then.size(); ++other) {
      const std::size_t count = other == me ? 0 : lent(me, other, then).size();
      before_.bytes += count * BorrowedSamples::bytes_each(*data_);
      before_.messages += count > 0 ? 1 : 0;
    }
  }
}

void SampleExchange::before_step(std::uint64_t step, Loader* loader) {
  if (started_ && step % plan_.steps_per_epoch != 0) return;
  started_ = true;
  const std::uint64_t epoch = step / plan_.steps_per_epoch;
  const Partition now = division(plan_.home, plan_.exchanged, plan_.seed, epoch);
  if (!alone()) exchange(now);
  if (loader == nullptr) return;
  std::vector<Loader::Shard> shards;
  for (const int node : plan_.stands_for) shards.push_back({node, now[static_cast<std::size_t>(node)]});
  loader->begin_epoch(epoch, std::move(shards));
}

void SampleExchange::exchange(const Partition& now) {
  const auto me = static_cast<std::size_t>(plan_.stands_for.front());
  // No node sends before all have freed the last epoch's samples, so memory never holds those of
  // two epochs.
  borrowed_->dismiss();
  barrier(epoch_barrier_);
  for (std::size_t other = 0; other < now.size(); ++other) {
    if (other == me) continue;
    if (const auto samples = lent(me, other, now); !samples.empty())
      channel_.send(NodeId{static_cast<int>(other)}, BorrowedSamples::pack(*data_, samples));
  }
  for (std::size_t other = 0; other < now.size(); ++other) {
    if (other == me) continue;
    const NodeId from{static_cast<int>(other)};
    if (const auto samples = lent(other, me, now); !samples.empty())
      borrowed_->admit(*data_, samples, channel_.expect(from), channel_.endpoint.known_as(from));
  }
}

std::vector<std::uint32_t> SampleExchange::lent(std::size_t from, std::size_t to,
                                                const Partition& now) const {
  std::vector<std::uint32_t> result;
  std::ranges::copy_if(now[to], std::back_inserter(result),
                       [&](std::uint32_t sample) { return home_of_[sample] == from; });
  std::ranges::sort(result);
  return result;
}

Traffic SampleExchange::sent() const {
  const Traffic now = channel_.sent();
  return {before_.bytes + now.bytes, before_.messages + now.messages};
}

}  // namespace veche
