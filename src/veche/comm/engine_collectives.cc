#include "veche/comm/engine_collectives.h"

#include "veche/comm/neighbourhood.h"

namespace veche {
namespace {

template <class Work>
void counted(Channel& channel, Work work) {
  const Time start = channel.endpoint.now();
  const EngineCollectives::Outcome result = work(start + channel.timeout.limit());
  if (result.outcome != Received::Outcome::message) channel.give_up(result.missing, result.outcome);
  channel.timeout.note(channel.endpoint.now() - start);
  channel.count_wait(result.waited);
  channel.count(result.sent);
}

}  // namespace

std::unique_ptr<Neighbourhood> EngineCollectives::neighbourhood(std::span<const NodeId> /*sources*/,
                                                                std::span<const NodeId> /*readers*/,
                                                                std::size_t /*length*/) {
  return nullptr;
}

void engine_all_reduce(Channel& channel, EngineCollectives& engine, std::span<float> data) {
  counted(channel, [&](Time deadline) { return engine.all_reduce(channel.tag, data, deadline); });
}

void exchange(Channel& channel, Neighbourhood& neighbourhood) {
  counted(channel, [&](Time deadline) { return neighbourhood.exchange(deadline); });
}

}  // namespace veche
