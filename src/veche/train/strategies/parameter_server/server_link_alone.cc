// A worker whose servers come and go: it waits for none of them for long. What a server has not been sent is
// kept and pushed later, as one; until then that part of the model makes this node's own steps.
#include <algorithm>

#include "veche/comm/sleep.h"
#include "veche/comm/views.h"
#include "veche/train/strategies/parameter_server/server_link.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr double kLongestAnswer = 4;  // passes with their usual wait: then it goes on without the answer
constexpr Time kShortestWait{0.01};   // however quick a pass is
constexpr Time kUntilNextView{0.1};   // between two looks whether it is there

void step_by(std::span<float> x, double rate, std::span<const float> gradient) {
  const auto by = static_cast<float>(rate);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= by * gradient[i];
}

}  // namespace

void ServerLink::wait_for_nobody(std::vector<float> unpushed) {
  const std::span<const float> x = context_.learner.parameters();
  alone_.emplace();
  alone_->given.assign(x.begin(), x.end());
  alone_->unpushed = unpushed.size() == x.size() ? std::move(unpushed) : std::vector<float>(x.size());
  alone_->waits.assign(tree_.servers(), false);
  alone_->owed.assign(tree_.servers(), 0);
  alone_->lost.assign(context_.nodes(), false);
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    alone_->waits[server] = std::ranges::any_of(unpushed_part(server), [](float g) { return g != 0; });
  // What it serves itself begins with the model that these gradients have already moved.
  if (!server_) return;
  std::ranges::fill(unpushed_part(context_.me()), 0.0F);
  alone_->waits[context_.me()] = false;
}

void ServerLink::join_alone(std::uint64_t clock) {
  for (std::size_t server = 0; server < tree_.servers(); ++server) {
    send_up(ServerMessage::Kind::join, server, clock, {});
    ++alone_->owed[server];
  }
  alone_->ended = context_.channel.endpoint.now();
}

void ServerLink::exchange_alone(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                                double rate) {
  const Time start = context_.channel.endpoint.now();
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    if (!pushed.empty()) {
      add(unpushed_part(server), tree_.part(pushed, server));
      alone_->waits[server] = true;
    }
  std::vector<bool> asked(tree_.servers());
  try {
    // Where the lead is bounded nobody goes on before it may.
    await_owed(asked, pulled, rate, policy_.bounded() ? kForever : start);
    for (std::size_t server = 0; server < tree_.servers(); ++server)
      if (alone_->owed[server] == 0) {
        push_kept(server, clock);
        asked[server] = true;
      }
    const Time usual = start - alone_->ended + alone_->usual_wait;
    await_owed(asked, pulled, rate,
               policy_.bounded() ? kForever : start + std::max(kShortestWait, kLongestAnswer * usual));
  } catch (const ViewChanged&) {
    // The next wait says so again; this step is made first.
  }
  const auto without = [&](std::size_t server) { return !asked[server] || alone_->owed[server] > 0; };
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    if (without(server) && !pushed.empty())
      step_by(tree_.part(pulled, server), rate, tree_.part(pushed, server));
  alone_->ended = context_.channel.endpoint.now();
  const Time waited = alone_->ended - start;
  to_workers_.count_wait(waited);
  alone_->usual_wait += 0.125 * (waited - alone_->usual_wait);
}

void ServerLink::push_kept(std::size_t server, std::uint64_t clock) {
  const std::span<float> kept = unpushed_part(server);
  ++alone_->owed[server];
  send_up(ServerMessage::Kind::push, server, clock,
          alone_->waits[server] ? std::span<const float>(kept) : std::span<const float>());
  std::ranges::fill(kept, 0.0F);
  alone_->waits[server] = false;
}

// Takes what has come, and waits for those of `asked`; for all, where the lead is bounded.
void ServerLink::await_owed(const std::vector<bool>& asked, std::span<float> pulled, double rate,
                            Time deadline) {
  const auto waits_for = [&](std::size_t server) {
    return alone_->owed[server] > 0 && (asked[server] || policy_.bounded());
  };
  Endpoint& endpoint = context_.channel.endpoint;
  for (;;) {
    bool any = false, hope = false;
    for (std::size_t server = 0; server < tree_.servers(); ++server) {
      any = any || waits_for(server);
      hope = hope || (waits_for(server) && !alone_->lost[static_cast<std::size_t>(next_to(server).value)]);
    }
    if (any && !hope) {
      if (!policy_.bounded()) return;
      sleep_for(endpoint, kUntilNextView);  // throws when it is there
      continue;
    }
    const Time now = endpoint.now();
    const Received received = to_workers_.receive(any ? std::min(deadline, now + kUntilNextView) : now);
    if (received.outcome == Received::Outcome::timed_out) {
      if (!any || endpoint.now() >= deadline) return;
      continue;
    }
    if (received.outcome == Received::Outcome::peer_lost)
      alone_->lost[static_cast<std::size_t>(received.from.value)] = true;
    else
      take_answer(open(received.message), pulled, rate);
  }
}

void ServerLink::take_answer(const ServerMessage& answer, std::span<float> pulled, double rate) {
  const std::span<float> given = tree_.part(std::span<float>(alone_->given), answer.server);
  if (answer.kind == ServerMessage::Kind::changes)
    pulls_[answer.server].add(NodeId{static_cast<int>(answer.server)}, answer.code(), 1, given);
  else
    std::ranges::copy(answer.numbers(), given.begin());
  versions_[answer.server] = answer.parties.front().version;
  --alone_->owed[answer.server];
  const std::span<float> part = tree_.part(pulled, answer.server);
  std::ranges::copy(given, part.begin());
  if (alone_->waits[answer.server]) step_by(part, rate, unpushed_part(answer.server));
}

void ServerLink::leave_alone() {
  for (std::size_t server = 0; server < tree_.servers(); ++server) {
    if (alone_->waits[server] && !policy_.bounded()) push_kept(server, 0);
    send_up(ServerMessage::Kind::leave, server, 0, {});
  }
}

// All have left: everything that was asked is answered.
void ServerLink::finish_alone(std::span<float> pulled) {
  for (std::size_t server = 0; server < tree_.servers(); ++server) {
    send_up(ServerMessage::Kind::fetch, server, 0, {});
    ++alone_->owed[server];
  }
  const std::vector<bool> all(tree_.servers(), true);
  await_owed(all, pulled, 0, context_.channel.endpoint.now() + context_.channel.timeout.limit());
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    if (alone_->owed[server] > 0) to_workers_.give_up(next_to(server), Received::Outcome::timed_out);
}

}  // namespace veche
