#include "veche/train/strategies/parameter_server/server_helper.h"

#include <algorithm>

#include "veche/packed.h"
#include "veche/vector_math.h"

namespace veche {

ServerHelper::ServerHelper(ServerNetwork& network,
                           const std::function<std::unique_ptr<ServerRule>(std::size_t length)>& make_rule)
    : network_(network), gone_(network.context.nodes()), unanswered_(network.servers()) {
  if (!network_.serves()) return;
  const StrategyContext& context = network_.context;
  std::vector<bool> trainers;
  for (std::size_t node = 0; node < context.nodes(); ++node)
    trainers.push_back(context.samples.has_data(node));
  const std::span<const float> part =
      network_.tree.part(std::span<const float>(context.learner.parameters()), network_.me());
  if (network_.coder.on()) make_streams(part.size());
  server_ = std::make_unique<Server>(
      part, std::move(trainers), network_.policy, make_rule(part.size()),
      [this](std::span<const ServerMessage::Party> parties, std::span<const float> numbers) {
        if (!network_.coder.on()) return pass_down(network_.me(), parties, numbers);
        for (const ServerMessage::Party& party : parties)
          answers_.push_back({party, {numbers.begin(), numbers.end()}});
      });
}

void ServerHelper::make_streams(std::size_t length) {
  Channel& channel = network_.context.channel;
  const std::size_t me = network_.me();
  decoder_ = std::make_unique<CodedStream>(network_.coder, network_.pushed_shape(me), channel);
  StreamShape answers = network_.pulled_shape(me);
  for (std::size_t worker = 0; worker < network_.context.nodes(); ++worker) {
    answers.sender = (static_cast<std::uint64_t>(me) << 32U) + worker;
    answered_.push_back({CodedStream(network_.coder, answers, channel), std::vector<float>(length)});
  }
}

void ServerHelper::start() {
  for (std::size_t server = 0; server < network_.servers(); ++server)
    if (network_.has_helper_for(server)) return network_.context.channel.endpoint.spawn([this] { serve(); });
}

void ServerHelper::serve() {
  for (;;) {
    while (backlog_.empty()) {
      check_answers_can_come();
      receive(kForever);
    }
    Incoming next = std::move(backlog_.front());
    backlog_.pop_front();
    handle(next.from, std::move(next.message));
    code_answers();
    for (Outgoing& ready : outgoing_) ready.channel.send(ready.to, std::move(ready.message));
    outgoing_.clear();
  }
}

bool ServerHelper::receive(Time deadline) {
  Received received = network_.to_servers.receive(deadline);
  if (received.outcome == Received::Outcome::message)
    backlog_.push_back({received.from, network_.opened(received.from, std::move(received.message))});
  if (received.outcome == Received::Outcome::peer_lost)
    gone_[static_cast<std::size_t>(received.from.value)] = true;
  return received.outcome != Received::Outcome::timed_out;
}

bool ServerHelper::holds_answers() {
  const MutexLock lock(mutex_);
  return server_ && server_->holds_answers();
}

// A worker notices itself when the node it asks is lost, but not when a node further up is lost, or
// a worker whose push its answer waits for.
void ServerHelper::check_answers_can_come() {
  if (tolerates_losses_) return;
  const auto lost = std::ranges::find(gone_, true);
  if (lost != gone_.end() && holds_answers())
    network_.to_servers.give_up(NodeId{static_cast<int>(lost - gone_.begin())}, Received::Outcome::peer_lost);
  for (std::size_t server = 0; server < network_.tree.servers(); ++server) {
    if (unanswered_[server] == 0) continue;
    const NodeId next = network_.tree.parent(server);
    if (gone_[static_cast<std::size_t>(next.value)])
      network_.to_servers.give_up(next, Received::Outcome::peer_lost);
  }
}

void ServerHelper::handle(NodeId from, ServerMessage message) {
  const auto refuse = [&](const char* expected) {
    throw BadMessage(network_.known_as(from), message.message.size(), expected);
  };
  if (message.kind == ServerMessage::Kind::changes) refuse("a message to a parameter server");
  if (message.kind == ServerMessage::Kind::parameters) {
    const auto below = [&](const ServerMessage::Party& party) {
      return party.worker == network_.me() || network_.tree.is_below(party.worker, message.server);
    };
    if (message.parties.size() > unanswered_[message.server] || !std::ranges::all_of(message.parties, below))
      refuse("an answer to workers that wait for one");
    unanswered_[message.server] -= message.parties.size();
    return pass_down(message.server, message.parties, message.numbers());
  }
  if (message.server != network_.me()) return pass_up(std::move(message));
  if (network_.coder.on()) message = decoded(std::move(message));
  const MutexLock lock(mutex_);
  server_->take(message);
}

ServerMessage ServerHelper::decoded(ServerMessage message) {
  const ServerMessage::Party& party = message.parties.front();
  // A worker that joins may continue from a checkpoint; one that fetches wants the exact numbers.
  if (message.kind == ServerMessage::Kind::join || message.kind == ServerMessage::Kind::fetch)
    answered_.at(party.worker).wants_all = true;
  if (message.kind != ServerMessage::Kind::push || message.bytes == 0) return message;
  std::vector<float> numbers(answered_.front().copy.size());
  decoder_->add(NodeId{static_cast<int>(party.worker)}, message.code(), 1, numbers);
  message.message = network_.pool().copy_of(std::span<const float>(numbers));
  message.bytes = message.message.size();
  message.size = numbers.size();
  return message;
}

void ServerHelper::code_answers() {
  for (Answer& answer : answers_) {
    Answered& worker = answered_[answer.party.worker];
    const NodeId to{static_cast<int>(answer.party.worker)};
    const std::size_t floats = answer.numbers.size();
    ServerMessage::Kind kind = ServerMessage::Kind::changes;
    Message content;
    if (worker.wants_all) {
      kind = ServerMessage::Kind::parameters;
      content = network_.pool().copy_of(std::span<const float>(answer.numbers));
      worker.copy = std::move(answer.numbers);
      worker.wants_all = false;
    } else {
      for (std::size_t i = 0; i < floats; ++i) answer.numbers[i] -= worker.copy[i];
      content = worker.stream.encode(answer.numbers);
      worker.stream.add(network_.context.channel.me(), content, 1, worker.copy);
    }
    network_.send_coded(network_.to_workers, to,
                        seal(network_.pool(), kind, network_.me(), {&answer.party, 1}, content.bytes()),
                        floats);
  }
  answers_.clear();
}

// Pushes that have arrived meanwhile go up as one sum. Pushes of different versions stay apart
// where the server treats them differently.
void ServerHelper::pass_up(ServerMessage message) {
  std::vector<float> sum;  // empty: the message goes on unchanged
  if (message.kind == ServerMessage::Kind::push && message.size > 0) {
    while (receive(network_.context.channel.endpoint.now())) {
    }
    const bool any_version =
        !network_.policy.sync && !network_.policy.damp && network_.policy.compensate == 0;
    std::erase_if(backlog_, [&](const Incoming& incoming) {
      const ServerMessage& other = incoming.message;
      if (other.kind != ServerMessage::Kind::push || other.server != message.server ||
          other.size != message.size)
        return false;
      if (!any_version && other.parties.front().version != message.parties.front().version) return false;
      if (sum.empty()) sum.assign(message.numbers().begin(), message.numbers().end());
      add(sum, other.numbers());
      message.parties.insert(message.parties.end(), other.parties.begin(), other.parties.end());
      return true;
    });
  }
  if (message.kind != ServerMessage::Kind::leave) unanswered_[message.server] += message.parties.size();
  outgoing_.push_back({network_.to_servers, network_.tree.parent(message.server),
                       sum.empty()
                           ? message.message
                           : seal(network_.pool(), message.kind, message.server, message.parties, sum)});
}

void ServerHelper::pass_down(std::size_t server, std::span<const ServerMessage::Party> parties,
                             std::span<const float> numbers) {
  std::vector<ServerMessage::Party> left(parties.begin(), parties.end());
  while (!left.empty()) {
    const auto next = [&](const ServerMessage::Party& party) {
      return party.worker == network_.me() ? network_.context.channel.me()
                                           : network_.tree.towards(party.worker, server);
    };
    const NodeId to = next(left.front());
    const auto others =
        std::ranges::stable_partition(left, [&](const auto& party) { return next(party) == to; });
    const std::span<const ServerMessage::Party> first(left.data(), left.size() - others.size());
    // A node between other nodes and the server gets the answer through its helper: its worker
    // expects answers from there.
    const bool to_its_worker = to == network_.context.channel.me() ||
                               !network_.tree.has_children(static_cast<std::size_t>(to.value), server);
    outgoing_.push_back({to_its_worker ? network_.to_workers : network_.to_servers, to,
                         seal(network_.pool(), ServerMessage::Kind::parameters, server, first, numbers)});
    left.erase(left.begin(), others.begin());
  }
}

}  // namespace veche
