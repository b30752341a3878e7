#include "veche/train/strategies/parameter_server/worker_session.h"

#include <algorithm>

#include "veche/packed.h"

namespace veche {

WorkerSession::WorkerSession(ServerNetwork& network) : network_(network), versions_(network.servers()) {
  if (!network_.coder.on()) return;
  for (std::size_t server = 0; server < network_.servers(); ++server) {
    pushes_.emplace_back(network_.coder, network_.pushed_shape(server), network_.context.channel);
    pulls_.emplace_back(network_.coder, network_.pulled_shape(server), network_.context.channel);
  }
}

void WorkerSession::add_state(SavedState& state) {
  for (std::uint64_t& version : versions_) state.numbers.push_back(&version);
  for (CodedStream& push : pushes_) push.add_state(state);
}

double WorkerSession::remembered_squared() const {
  double sum = 0;
  for (const CodedStream& push : pushes_) sum += push.remembered_squared();
  return sum;
}

void WorkerSession::send_up(ServerMessage::Kind kind, std::size_t server, std::uint64_t clock,
                            std::span<const float> numbers) {
  const ServerMessage::Party me{network_.me(), clock, versions_[server]};
  const NodeId to = network_.next_to(server);
  if (!network_.coder.on()) {
    network_.to_servers.send(to, seal(network_.pool(), kind, server, {&me, 1}, numbers));
    return;
  }
  const Message code = numbers.empty() ? Message{} : pushes_[server].encode(numbers);
  network_.send_coded(network_.to_servers, to, seal(network_.pool(), kind, server, {&me, 1}, code.bytes()),
                      numbers.size());
}

void WorkerSession::take(NodeId from, const ServerMessage& answer, std::span<float> whole) {
  const bool changes = answer.kind == ServerMessage::Kind::changes;
  if (!changes && answer.kind != ServerMessage::Kind::parameters)
    throw BadMessage(network_.known_as(from), answer.message.size(), "an answer of a parameter server");
  const std::span<float> part = network_.tree.part(whole, answer.server);
  if (changes)
    pulls_[answer.server].add(NodeId{static_cast<int>(answer.server)}, answer.code(), 1, part);
  else
    std::ranges::copy(answer.numbers(), part.begin());
  versions_[answer.server] = answer.parties.front().version;
}

void BlockingSession::join(std::span<float> pulled, std::uint64_t clock) {
  for (std::size_t server = 0; server < network_.servers(); ++server)
    send_up(ServerMessage::Kind::join, server, clock, {});
  await_answers(pulled);
}

void BlockingSession::exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock,
                               double /*rate*/) {
  for (std::size_t server = 0; server < network_.servers(); ++server)
    send_up(ServerMessage::Kind::push, server, clock, network_.tree.part(pushed, server));
  await_answers(pulled);
}

// Several servers may answer through one node, in any order.
void BlockingSession::await_answers(std::span<float> pulled) {
  std::vector<bool> answered(network_.servers());
  for (std::size_t server = 0; server < network_.servers(); ++server) {
    while (!answered[server]) {
      const NodeId from = network_.next_to(server);
      const ServerMessage answer = network_.opened(from, network_.to_workers.expect(from));
      take(from, answer, pulled);
      answered[answer.server] = true;
    }
  }
}

void BlockingSession::leave() {
  for (std::size_t server = 0; server < network_.servers(); ++server)
    send_up(ServerMessage::Kind::leave, server, 0, {});
}

void BlockingSession::finish(std::span<float> pulled) {
  for (std::size_t server = 0; server < network_.servers(); ++server)
    send_up(ServerMessage::Kind::fetch, server, 0, {});
  await_answers(pulled);
}

}  // namespace veche
