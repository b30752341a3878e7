#include "veche/train/views/state_transfer.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "veche/base/files/content_hash.h"
#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/train/views/piece_plan.h"
#include "veche/train/views/state_lending.h"

namespace veche {
namespace {

struct StateRequest {
  enum class Kind : std::uint64_t { manifest, piece, update, done } kind = Kind::manifest;
  std::uint64_t piece = 0;  // or step, of an update
};

// Of an answer to `update`, before the bytes.
struct UpdateHead {
  StepMade::By by = StepMade::By::gradient;
  std::uint64_t steps = 1;
  double rate = 0, scale = 1;
};

class StateFetch {
 public:
  StateFetch(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors)
      : self_(self),
        requests_(channel.child(tags::kStateRequests)),
        answers_(channel.child(tags::kStateAnswers)),
        donors_(donors) {}

  Fetched run() {
    ask(0, {StateRequest::Kind::manifest, 0});
    const Message manifest = answers_.expect(donors_.front());
    const StateManifest wanted = StateManifest::of(manifest.as<std::uint64_t>());
    fit_state(self_, wanted.lengths);
    const StatePieces pieces(self_);
    if (pieces.count() != wanted.hashes.size()) throw RunError("a list of the state's pieces is damaged");
    std::erase_if(self_.fetched, [&](const auto& piece) {  // of a state that nobody has any more
      return std::ranges::find(wanted.hashes, piece.first) == wanted.hashes.end();
    });
    std::vector<std::uint64_t> here = pieces.manifest().hashes;
    for (std::size_t i = 0; i < here.size(); ++i)
      if (self_.fetched.contains(wanted.hashes[i])) here[i] = wanted.hashes[i];
    PiecePlan plan(wanted.hashes, here, donors_.size());
    const Fetched result{plan.missing(), pieces.count()};
    while (!plan.complete()) {
      for (std::size_t donor = 0; donor < donors_.size(); ++donor)
        while (const auto piece = plan.next(donor)) ask(donor, {StateRequest::Kind::piece, *piece});
      if (plan.hopeless()) answers_.give_up(donors_.front(), Received::Outcome::peer_lost);
      take(plan, pieces, wanted.hashes);
    }
    say_done();
    // Only now: until all of it was here, what this node had itself was worth more.
    for (std::size_t i = 0; i < pieces.count(); ++i)
      if (const auto found = self_.fetched.find(wanted.hashes[i]); found != self_.fetched.end())
        pieces.put(i, found->second);
    self_.fetched.clear();
    if (self_.lending) self_.lending->clear();
    return result;
  }

  // The same by the steps that this node has not made, where the donors have kept them.
  bool follow(std::uint64_t until) {
    const std::uint64_t whole =
        self_.learner->parameters().size_bytes() * (2 + self_.optimizer->state().size());
    while (self_.step < until) {
      ask(0, {StateRequest::Kind::update, self_.step});
      const Message answer = answers_.expect(donors_.front());
      // Where many are missing, the state itself may be sooner here.
      if (answer.size() < sizeof(UpdateHead) || answer.size() * (until - self_.step) > whole) return false;
      UpdateHead head;
      std::memcpy(&head, answer.bytes().data(), sizeof head);
      const std::span<const std::byte> bytes = answer.bytes().subspan(sizeof head);
      if (!repeat_step(self_, {head.by, self_.step, head.steps, head.rate, head.scale,
                               std::vector<std::byte>(bytes.begin(), bytes.end())}))
        return false;
    }
    return true;
  }
  void say_done() {
    for (std::size_t donor = 0; donor < donors_.size(); ++donor) ask(donor, {StateRequest::Kind::done, 0});
  }

 private:
  void ask(std::size_t donor, const StateRequest& request) {
    requests_.send(donors_[donor], requests_.pool.copy_of_item(request));
  }

  void take(PiecePlan& plan, const StatePieces& pieces, const std::vector<std::uint64_t>& hashes) {
    const Received received = answers_.receive(answers_.endpoint.now() + answers_.timeout.limit());
    const auto place = std::ranges::find(donors_, received.from);
    const auto donor = static_cast<std::size_t>(place - donors_.begin());
    if (received.outcome == Received::Outcome::timed_out) answers_.give_up(donors_.front(), received.outcome);
    if (place == donors_.end()) return;  // somebody else is lost
    if (received.outcome == Received::Outcome::peer_lost) return plan.lost(donor);
    const std::span<const std::byte> bytes = received.message.bytes();
    std::uint64_t piece = 0;
    if (bytes.size() < sizeof piece) return plan.lost(donor);
    std::memcpy(&piece, bytes.data(), sizeof piece);
    const std::span<const std::byte> content = bytes.subspan(sizeof piece);
    if (piece >= pieces.count() || content.size() != pieces[piece].size()) return plan.lost(donor);
    if (content_hash(content) != hashes[piece]) return plan.refused(piece, donor);
    self_.fetched[hashes[piece]].assign(content.begin(), content.end());
    plan.arrived(piece);
  }

  NodeSelf& self_;
  Channel requests_, answers_;
  const std::vector<NodeId>& donors_;
};

// How this step was made; nothing where that was not kept.
Message update_of(const NodeSelf& self, std::uint64_t step, MessagePool& pool) {
  const auto made = self.lending ? self.lending->step_made(step) : nullptr;
  if (!made) return {};
  const UpdateHead head{made->by, made->steps, made->rate, made->scale};
  Message message = pool.make(sizeof head + made->bytes.size());
  std::memcpy(message.writable<std::byte>().data(), &head, sizeof head);
  std::ranges::copy(made->bytes, message.writable<std::byte>().begin() + sizeof head);
  return message;
}

}  // namespace

Fetched fetch_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors, const Goal& goal) {
  StateFetch fetch(self, channel, donors);
  const bool near = goal.hash != 0 && self.has_state && self.step < goal.step;
  if (const std::uint64_t from = self.step;
      near && fetch.follow(goal.step) && state_hash(self) == goal.hash) {
    fetch.say_done();
    if (self.lending) self.lending->clear();
    return {.steps = self.step - from};
  }
  return fetch.run();
}

void serve_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& takers) {
  if (takers.empty()) return;
  Channel requests = channel.child(tags::kStateRequests), answers = channel.child(tags::kStateAnswers);
  const StatePieces pieces(self);
  std::vector<NodeId> served = takers;
  while (!served.empty()) {
    const Received received = requests.receive(requests.endpoint.now() + requests.timeout.limit());
    const bool known = std::ranges::find(served, received.from) != served.end();
    if (received.outcome != Received::Outcome::message) {
      if (received.outcome == Received::Outcome::timed_out || known)
        requests.give_up(known ? received.from : served.front(), received.outcome);
      continue;
    }
    const std::span<const StateRequest> request = received.message.as<StateRequest>();
    if (!known || request.size() != 1) throw RunError("a request for the state is damaged");
    if (request[0].kind == StateRequest::Kind::done) {
      std::erase(served, received.from);
    } else if (request[0].kind == StateRequest::Kind::manifest) {
      const std::vector<std::uint64_t> words = pieces.manifest().coded();
      answers.send(received.from, answers.pool.copy_of(std::span<const std::uint64_t>(words)));
    } else if (request[0].kind == StateRequest::Kind::update) {
      answers.send(received.from, update_of(self, request[0].piece, answers.pool));
    } else if (request[0].piece < pieces.count()) {
      const std::span<const std::byte> piece = pieces[request[0].piece];
      Message message = answers.pool.make(sizeof(std::uint64_t) + piece.size());
      std::memcpy(message.writable<std::byte>().data(), &request[0].piece, sizeof(std::uint64_t));
      std::ranges::copy(piece, message.writable<std::byte>().begin() + sizeof(std::uint64_t));
      answers.send(received.from, std::move(message));
    }
  }
}

}  // namespace veche
