#include <algorithm>

#include "veche/comm/sleep.h"
#include "veche/train/strategies/parameter_server/worker_session.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr double kLongestAnswer = 4;  // in passes with their usual wait: then it goes on without the answer
constexpr Time kShortestWait{0.01};   // however fast a pass is
constexpr Time kUntilNextView{0.1};   // between two checks whether the next view has come

void step_by(std::span<float> x, double rate, std::span<const float> gradient) {
  const auto by = static_cast<float>(rate);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= by * gradient[i];
}

}  // namespace

GridSession::GridSession(ServerNetwork& network, std::vector<float> unpushed)
    : WorkerSession(network),
      waits_(network.servers()),
      owed_(network.servers()),
      lost_(network.context.nodes()) {
  const std::span<const float> x = network.context.learner.parameters();
  given_.assign(x.begin(), x.end());
  unpushed_ = unpushed.size() == x.size() ? std::move(unpushed) : std::vector<float>(x.size());
  for (std::size_t server = 0; server < network.servers(); ++server)
    waits_[server] = std::ranges::any_of(unpushed_part(server), [](float g) { return g != 0; });
  // The part that this node serves starts with the model, which these gradients have already
  // changed.
  if (!network.serves()) return;
  std::ranges::fill(unpushed_part(network.me()), 0.0F);
  waits_[network.me()] = false;
}

void GridSession::join(std::span<float> /*pulled*/, std::uint64_t clock) {
  for (std::size_t server = 0; server < network_.servers(); ++server) {
    send_up(ServerMessage::Kind::join, server, clock, {});
    ++owed_[server];
  }
  ended_ = network_.context.channel.endpoint.now();
}

void GridSession::exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                           double rate) {
  const ServerTree& tree = network_.tree;
  const bool bounded = network_.policy.bounded();
  const Time start = network_.context.channel.endpoint.now();
  for (std::size_t server = 0; server < tree.servers(); ++server)
    if (!pushed.empty()) {
      add(unpushed_part(server), tree.part(pushed, server));
      waits_[server] = true;
    }
  std::vector<bool> asked(tree.servers());
  try {
    // Where the lead is bounded no worker goes on before it may.
    await_owed(asked, pulled, rate, bounded ? kForever : start);
    for (std::size_t server = 0; server < tree.servers(); ++server)
      if (owed_[server] == 0) {
        push_kept(server, clock);
        asked[server] = true;
      }
    const Time usual = start - ended_ + usual_wait_;
    await_owed(asked, pulled, rate,
               bounded ? kForever : start + std::max(kShortestWait, kLongestAnswer * usual));
  } catch (const ViewChanged&) {
    // The next wait throws it again; this step is completed first.
  }
  const auto without = [&](std::size_t server) { return !asked[server] || owed_[server] > 0; };
  for (std::size_t server = 0; server < tree.servers(); ++server)
    if (without(server) && !pushed.empty())
      step_by(tree.part(pulled, server), rate, tree.part(pushed, server));
  ended_ = network_.context.channel.endpoint.now();
  const Time waited = ended_ - start;
  network_.to_workers.count_wait(waited);
  usual_wait_ += 0.125 * (waited - usual_wait_);
}

void GridSession::push_kept(std::size_t server, std::uint64_t clock) {
  const std::span<float> kept = unpushed_part(server);
  ++owed_[server];
  send_up(ServerMessage::Kind::push, server, clock,
          waits_[server] ? std::span<const float>(kept) : std::span<const float>());
  std::ranges::fill(kept, 0.0F);
  waits_[server] = false;
}

// Takes the answers that have come, and waits for those of `asked`; for all, where the lead is
// bounded.
void GridSession::await_owed(const std::vector<bool>& asked, std::span<float> pulled, double rate,
                             Time deadline) {
  const bool bounded = network_.policy.bounded();
  const auto waits_for = [&](std::size_t server) { return owed_[server] > 0 && (asked[server] || bounded); };
  Endpoint& endpoint = network_.context.channel.endpoint;
  for (;;) {
    bool any = false, hope = false;
    for (std::size_t server = 0; server < network_.servers(); ++server) {
      any = any || waits_for(server);
      hope = hope || (waits_for(server) && !lost_[static_cast<std::size_t>(network_.next_to(server).value)]);
    }
    if (any && !hope) {
      if (!bounded) return;
      sleep_for(endpoint, kUntilNextView);  // throws when the next view has come
      continue;
    }
    const Time now = endpoint.now();
    const Received received =
        network_.to_workers.receive(any ? std::min(deadline, now + kUntilNextView) : now);
    if (received.outcome == Received::Outcome::timed_out) {
      if (!any || endpoint.now() >= deadline) return;
      continue;
    }
    if (received.outcome == Received::Outcome::peer_lost)
      lost_[static_cast<std::size_t>(received.from.value)] = true;
    else
      take_answer(received.from, network_.opened(received.from, received.message), pulled, rate);
  }
}

void GridSession::take_answer(NodeId from, const ServerMessage& answer, std::span<float> pulled,
                              double rate) {
  take(from, answer, given_);
  --owed_[answer.server];
  const std::span<float> part = network_.tree.part(pulled, answer.server);
  std::ranges::copy(network_.tree.part(std::span<const float>(given_), answer.server), part.begin());
  if (waits_[answer.server]) step_by(part, rate, unpushed_part(answer.server));
}

void GridSession::leave() {
  for (std::size_t server = 0; server < network_.servers(); ++server) {
    if (waits_[server] && !network_.policy.bounded()) push_kept(server, 0);
    send_up(ServerMessage::Kind::leave, server, 0, {});
  }
}

// All workers have left: every request is answered.
void GridSession::finish(std::span<float> pulled) {
  for (std::size_t server = 0; server < network_.servers(); ++server) {
    send_up(ServerMessage::Kind::fetch, server, 0, {});
    ++owed_[server];
  }
  const Channel& channel = network_.context.channel;
  const std::vector<bool> all(network_.servers(), true);
  await_owed(all, pulled, 0, channel.endpoint.now() + channel.timeout.limit());
  for (std::size_t server = 0; server < network_.servers(); ++server)
    if (owed_[server] > 0)
      network_.to_workers.give_up(network_.next_to(server), Received::Outcome::timed_out);
}

}  // namespace veche
