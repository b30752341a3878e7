#include "veche/train/server_link.h"

#include <algorithm>

#include "veche/base/vector_math.h"

namespace veche {
namespace {

constexpr Time kLook{0.05};  // between looks whether to stop, or whether those waited for are still there

}  // namespace

ServerLink::ServerLink(StrategyContext& context, ServerTree tree, ServerPolicy policy,
                       const std::function<std::unique_ptr<ServerRule>(std::size_t length)>& make_rule)
    : context_(context), tree_(tree), policy_(policy), versions_(tree.servers()) {
  const std::size_t me = context_.me();
  if (me >= tree_.servers()) return;
  std::vector<bool> trainers;
  for (std::size_t node = 0; node < context_.nodes(); ++node)
    trainers.push_back(context_.samples.has_data(node));
  const std::span<const float> part = tree_.part(std::span<const float>(context_.learner.parameters()), me);
  server_ = std::make_unique<Server>(
      part, std::move(trainers), policy_, make_rule(part.size()),
      [this, me](std::span<const Letter::Party> parties, std::span<const float> numbers) {
        pass_down(me, parties, numbers);
      });
}

ServerLink::~ServerLink() { stop_ = true; }

bool ServerLink::is_between() const {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    if (context_.me() == server || tree_.has_children(server)) return true;
  return false;
}

void ServerLink::start() {
  if (is_between())
    thread_ = std::jthread([this] {
      try {
        serve();
      } catch (...) {
        error_ = std::current_exception();
        failed_ = true;
      }
    });
}

void ServerLink::send(NodeId to, Tag tag, Message message) {
  if (to != context_.channel.me()) {
    sent_bytes_ += message.size();
    sent_messages_ += 1;
  }
  context_.channel.endpoint.send(to, tag, std::move(message));
}

void ServerLink::send_up(Letter::Kind kind, std::size_t server, std::uint64_t clock,
                         std::span<const float> numbers) {
  const Letter::Party me = self(server, clock);
  const bool own_thread = context_.me() == server || tree_.has_children(server);
  send(own_thread ? context_.channel.me() : tree_.parent(server), to_servers(),
       seal(context_.channel.pool, kind, server, {&me, 1}, numbers));
}

void ServerLink::join(std::span<float> pulled, std::uint64_t clock) {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(Letter::Kind::join, server, clock, {});
  await_answers(pulled);
}

void ServerLink::exchange(std::span<const float> pushed, std::span<float> pulled, std::uint64_t clock) {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(Letter::Kind::push, server, clock, tree_.part(pushed, server));
  await_answers(pulled);
  context_.channel.sent.bytes += sent_bytes_.exchange(0);
  context_.channel.sent.messages += sent_messages_.exchange(0);
}

void ServerLink::await_answers(std::span<float> pulled) {
  Endpoint& endpoint = context_.channel.endpoint;
  const Time start = endpoint.now();
  for (std::size_t missing = tree_.servers(); missing > 0;) {
    Received received = endpoint.receive({}, to_worker(), endpoint.now() + kLook);
    if (received.outcome == Received::Outcome::message) {
      const Letter letter = open(std::move(received.message));
      std::ranges::copy(letter.numbers(), tree_.part(pulled, letter.server).begin());
      versions_[letter.server] = letter.parties.front().version;
      --missing;
      continue;
    }
    if (failed_) std::rethrow_exception(error_);
    for (int node = 0; node < endpoint.size(); ++node)
      if (!endpoint.alive(NodeId{node})) context_.channel.give_up(NodeId{node}, Received::Outcome::peer_lost);
    if (endpoint.now() - start > context_.channel.patience.limit())
      context_.channel.give_up(NodeId{0}, Received::Outcome::timed_out);
  }
  context_.channel.waited += endpoint.now() - start;
}

void ServerLink::leave() {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(Letter::Kind::leave, server, 0, {});
}

void ServerLink::finish(std::span<float> pulled) {
  for (std::size_t server = 0; server < tree_.servers(); ++server)
    send_up(Letter::Kind::fetch, server, 0, {});
  await_answers(pulled);
}

void ServerLink::serve() {
  Endpoint& endpoint = context_.channel.endpoint;
  while (!stop_) {
    if (backlog_.empty()) {
      Received received = endpoint.receive({}, to_servers(), endpoint.now() + kLook);
      if (received.outcome != Received::Outcome::message) continue;
      backlog_.push_back(open(std::move(received.message)));
    }
    Letter letter = std::move(backlog_.front());
    backlog_.pop_front();
    handle(std::move(letter));
  }
}

void ServerLink::handle(Letter letter) {
  if (letter.kind == Letter::Kind::parameters)
    return pass_down(letter.server, letter.parties, letter.numbers());
  if (letter.server != context_.me()) return pass_up(std::move(letter));
  const std::lock_guard lock(mutex_);
  server_->take(letter);
}

// Pushes that have come meanwhile go up as one. Those of different versions must stay apart where the server
// treats them differently.
void ServerLink::pass_up(Letter letter) {
  std::vector<float> sum;  // empty: it goes on as it came
  if (letter.kind == Letter::Kind::push && letter.size > 0) {
    Endpoint& endpoint = context_.channel.endpoint;
    for (;;) {
      Received received = endpoint.receive({}, to_servers(), endpoint.now());
      if (received.outcome != Received::Outcome::message) break;
      backlog_.push_back(open(std::move(received.message)));
    }
    const bool any_version = !policy_.together && !policy_.damp && policy_.compensate == 0;
    std::erase_if(backlog_, [&](const Letter& other) {
      if (other.kind != Letter::Kind::push || other.server != letter.server || other.size != letter.size)
        return false;
      if (!any_version && other.parties.front().version != letter.parties.front().version) return false;
      if (sum.empty()) sum.assign(letter.numbers().begin(), letter.numbers().end());
      add(sum, other.numbers());
      letter.parties.insert(letter.parties.end(), other.parties.begin(), other.parties.end());
      return true;
    });
  }
  send(tree_.parent(letter.server), to_servers(),
       sum.empty() ? letter.message
                   : seal(context_.channel.pool, letter.kind, letter.server, letter.parties, sum));
}

void ServerLink::pass_down(std::size_t server, std::span<const Letter::Party> parties,
                           std::span<const float> numbers) {
  std::vector<Letter::Party> left(parties.begin(), parties.end());
  while (!left.empty()) {
    const auto way = [&](const Letter::Party& party) {
      return party.worker == context_.me() ? context_.channel.me() : tree_.towards(party.worker, server);
    };
    const NodeId to = way(left.front());
    const auto others =
        std::ranges::stable_partition(left, [&](const auto& party) { return way(party) == to; });
    const std::span<const Letter::Party> together(left.data(), left.size() - others.size());
    // Below, only a node that stands between others and the server has a thread to pass it on.
    const bool to_its_worker =
        to == context_.channel.me() ||
        (together.size() == 1 && together[0].worker == static_cast<std::size_t>(to.value));
    send(to, to_its_worker ? to_worker() : to_servers(),
         seal(context_.channel.pool, Letter::Kind::parameters, server, together, numbers));
    left.erase(left.begin(), others.begin());
  }
}

}  // namespace veche
