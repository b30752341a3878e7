#include "veche/train/strategies/parameter_server/server_link.h"

#include <algorithm>

#include "veche/train/loop/sample_plan.h"
#include "veche/vector_math.h"

namespace veche {

ServerLink::ServerLink(StrategyContext& context, ServerTree tree, ServerPolicy policy,
                       const std::function<std::unique_ptr<ServerRule>(std::size_t length)>& make_rule)
    : context_(context),
      coder_(context),
      tree_(tree),
      policy_(policy),
      versions_(tree.servers()),
      gone_(context.nodes()),
      unanswered_(tree.servers()) {
  const std::size_t me = context_.me();
  if (coder_.on()) make_streams();
  if (me >= tree_.servers()) return;
  std::vector<bool> trainers;
  for (std::size_t node = 0; node < context_.nodes(); ++node)
    trainers.push_back(context_.samples.has_data(node));
  const std::span<const float> part = tree_.part(std::span<const float>(context_.learner.parameters()), me);
  server_ = std::make_unique<Server>(
      part, std::move(trainers), policy_, make_rule(part.size()),
      [this, me](std::span<const ServerMessage::Party> parties, std::span<const float> numbers) {
        if (!coder_.on()) return pass_down(me, parties, numbers);
        for (const ServerMessage::Party& party : parties)
          answers_.push_back({party, {numbers.begin(), numbers.end()}});
      });
}

void ServerLink::make_streams() {
  const std::span<float> whole = context_.learner.parameters();
  Channel& channel = context_.channel;
  for (std::size_t server = 0; server < tree_.servers(); ++server) {
    const std::span<float> part = tree_.part(whole, server);
    const auto from = static_cast<std::size_t>(part.data() - whole.data());
    const StreamShape pushed = coder_.shape(from, part.size(), false, context_.nodes());
    StreamShape pulled = coder_.shape(from, part.size(), true, context_.nodes());
    pushes_.emplace_back(coder_, pushed, channel);
    pulls_.emplace_back(coder_, pulled, channel);
    if (server != context_.me()) continue;
    decoders_.emplace_back(coder_, pushed, channel);
    for (std::size_t worker = 0; worker < context_.nodes(); ++worker) {
      pulled.sender = (static_cast<std::uint64_t>(context_.me()) << 32U) + worker;
      answered_.push_back({CodedStream(coder_, pulled, channel), std::vector<float>(part.size())});
    }
  }
}

SavedState ServerLink::state() {
  SavedState all = server_ ? server_->state() : SavedState{};
  for (std::uint64_t& version : versions_) all.numbers.push_back(&version);
  for (CodedStream& push : pushes_) push.add_state(all);
  return all;
}

Coding ServerLink::coding() const {
  Coding all = coder_.counted();
  for (const CodedStream& push : pushes_) all.remembered_squared += push.remembered_squared();
  return all;
}

void ServerLink::send(Channel& channel, NodeId to, Message message, std::size_t floats) {
  if (coder_.on() && to != context_.channel.me())
    coder_.count(floats * sizeof(float) + sizeof(ServerMessage::Party), message.size());
  channel.send(to, std::move(message));
}

void ServerLink::start() {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    if (has_helper_for(server)) return context_.channel.endpoint.spawn([this] { serve(); });
}

void ServerLink::send_up(ServerMessage::Kind kind, std::size_t server, std::uint64_t clock,
                         std::span<const float> numbers) {
  const ServerMessage::Party me{context_.me(), clock, versions_[server]};
  if (coder_.on()) {
    const Message code = numbers.empty() ? Message{} : pushes_[server].encode(numbers);
    return send(to_servers_, next_to(server),
                seal(context_.channel.pool, kind, server, {&me, 1}, code.bytes()), numbers.size());
  }
  to_servers_.send(next_to(server), seal(context_.channel.pool, kind, server, {&me, 1}, numbers));
}

void ServerLink::join(std::span<float> pulled, std::uint64_t clock) {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(ServerMessage::Kind::join, server, clock, {});
  await_answers(pulled);
}

void ServerLink::exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock) {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(ServerMessage::Kind::push, server, clock, tree_.part(pushed, server));
  await_answers(pulled);
}

// Several servers may answer through one node, in any order.
void ServerLink::await_answers(std::span<float> pulled) {
  std::vector<bool> answered(tree_.servers());
  for (std::size_t server = 0; server < tree_.servers(); ++server) {
    while (!answered[server]) {
      const ServerMessage answer = open(to_workers_.expect(next_to(server)));
      const std::span<float> part = tree_.part(pulled, answer.server);
      if (answer.kind == ServerMessage::Kind::changes)
        pulls_[answer.server].add(NodeId{static_cast<int>(answer.server)}, answer.code(), 1, part);
      else
        std::ranges::copy(answer.numbers(), part.begin());
      versions_[answer.server] = answer.parties.front().version;
      answered[answer.server] = true;
    }
  }
}

void ServerLink::leave() {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(ServerMessage::Kind::leave, server, 0, {});
}

void ServerLink::finish(std::span<float> pulled) {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(ServerMessage::Kind::fetch, server, 0, {});
  await_answers(pulled);
}

void ServerLink::serve() {
  for (;;) {
    while (backlog_.empty()) {
      check_answers_can_come();
      hear(kForever);
    }
    ServerMessage message = std::move(backlog_.front());
    backlog_.pop_front();
    handle(std::move(message));
    code_answers();
    for (Outgoing& ready : outgoing_) ready.channel.send(ready.to, std::move(ready.message));
    outgoing_.clear();
  }
}

bool ServerLink::hear(Time deadline) {
  Received received = to_servers_.receive(deadline);
  if (received.outcome == Received::Outcome::message) backlog_.push_back(open(std::move(received.message)));
  if (received.outcome == Received::Outcome::peer_lost)
    gone_[static_cast<std::size_t>(received.from.value)] = true;
  return received.outcome != Received::Outcome::timed_out;
}

// Workers notice for themselves when the node they ask is gone, but not when one further up is, or one whose
// push their answer waits for.
void ServerLink::check_answers_can_come() {
  if (alone_) return;  // the next view does without it
  const auto lost = std::ranges::find(gone_, true);
  if (lost != gone_.end() && server_ && server_->holds_answers())
    to_servers_.give_up(NodeId{static_cast<int>(lost - gone_.begin())}, Received::Outcome::peer_lost);
  for (std::size_t server = 0; server < tree_.servers(); ++server) {
    if (unanswered_[server] == 0) continue;
    const NodeId next = tree_.parent(server);
    if (gone_[static_cast<std::size_t>(next.value)]) to_servers_.give_up(next, Received::Outcome::peer_lost);
  }
}

void ServerLink::handle(ServerMessage message) {
  if (message.kind == ServerMessage::Kind::parameters) {
    unanswered_[message.server] -= message.parties.size();
    return pass_down(message.server, message.parties, message.numbers());
  }
  if (message.server != context_.me()) return pass_up(std::move(message));
  if (coder_.on()) message = decoded(std::move(message));
  const std::lock_guard lock(mutex_);
  server_->take(message);
}

ServerMessage ServerLink::decoded(ServerMessage message) {
  const ServerMessage::Party& party = message.parties.front();
  // One that joins goes on from a checkpoint, perhaps, and one that fetches wants the numbers themselves.
  if (message.kind == ServerMessage::Kind::join || message.kind == ServerMessage::Kind::fetch)
    answered_.at(party.worker).wants_all = true;
  if (message.kind != ServerMessage::Kind::push || message.bytes == 0) return message;
  std::vector<float> numbers(answered_.front().copy.size());
  decoders_.front().add(NodeId{static_cast<int>(party.worker)}, message.code(), 1, numbers);
  message.message = context_.channel.pool.copy_of(std::span<const float>(numbers));
  message.bytes = message.message.size();
  message.size = numbers.size();
  return message;
}

void ServerLink::code_answers() {
  for (Answer& answer : answers_) {
    Answered& worker = answered_[answer.party.worker];
    const NodeId to{static_cast<int>(answer.party.worker)};
    const std::size_t floats = answer.numbers.size();
    ServerMessage::Kind kind = ServerMessage::Kind::changes;
    Message content;
    if (worker.wants_all) {
      kind = ServerMessage::Kind::parameters;
      content = context_.channel.pool.copy_of(std::span<const float>(answer.numbers));
      worker.copy = std::move(answer.numbers);
      worker.wants_all = false;
    } else {
      for (std::size_t i = 0; i < floats; ++i) answer.numbers[i] -= worker.copy[i];
      content = worker.stream.encode(answer.numbers);
      worker.stream.add(context_.channel.me(), content, 1, worker.copy);
    }
    send(to_workers_, to,
         seal(context_.channel.pool, kind, context_.me(), {&answer.party, 1}, content.bytes()), floats);
  }
  answers_.clear();
}

// Pushes that have come meanwhile go up as one. Those of different versions must stay apart where the server
// treats them differently.
void ServerLink::pass_up(ServerMessage message) {
  std::vector<float> sum;  // empty: it goes on as it came
  if (message.kind == ServerMessage::Kind::push && message.size > 0) {
    while (hear(context_.channel.endpoint.now())) {
    }
    const bool any_version = !policy_.sync && !policy_.damp && policy_.compensate == 0;
    std::erase_if(backlog_, [&](const ServerMessage& other) {
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
  outgoing_.push_back(
      {to_servers_, tree_.parent(message.server),
       sum.empty() ? message.message
                   : seal(context_.channel.pool, message.kind, message.server, message.parties, sum)});
}

void ServerLink::pass_down(std::size_t server, std::span<const ServerMessage::Party> parties,
                           std::span<const float> numbers) {
  std::vector<ServerMessage::Party> left(parties.begin(), parties.end());
  while (!left.empty()) {
    const auto way = [&](const ServerMessage::Party& party) {
      return party.worker == context_.me() ? context_.channel.me() : tree_.towards(party.worker, server);
    };
    const NodeId to = way(left.front());
    const auto others =
        std::ranges::stable_partition(left, [&](const auto& party) { return way(party) == to; });
    const std::span<const ServerMessage::Party> first(left.data(), left.size() - others.size());
    // A node that stands between others and the server gets it through its helper: workers know from whom
    // their answers come.
    const bool to_its_worker =
        to == context_.channel.me() || !tree_.has_children(static_cast<std::size_t>(to.value), server);
    outgoing_.push_back(
        {to_its_worker ? to_workers_ : to_servers_, to,
         seal(context_.channel.pool, ServerMessage::Kind::parameters, server, first, numbers)});
    left.erase(left.begin(), others.begin());
  }
}

}  // namespace veche
