#include "veche/train/views/state_transfer.h"

#include <algorithm>

#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

struct StateRequest {
  enum class Kind : std::uint64_t { manifest, piece, update, done } kind = Kind::manifest;
  std::uint64_t piece = 0;  // of an update: the step
};

// Before the bytes of an answer to `update`.
struct UpdateHead {
  StepMade::By by = StepMade::By::gradient;
  std::uint64_t steps = 1;
  double rate = 0, scale = 1;
};

// Donors in this node's view.
class ChannelSource : public StateSource {
 public:
  ChannelSource(Channel& channel, const std::vector<NodeId>& donors)
      : requests_(channel.child(tags::kStateRequests)),
        answers_(channel.child(tags::kStateAnswers)),
        donors_(donors) {}

  StateManifest manifest() {
    ask(0, {StateRequest::Kind::manifest, 0});
    const Message answer = answers_.expect(donors_.front());
    const bool whole = answer.size() % sizeof(std::uint64_t) == 0;
    auto manifest = whole ? StateManifest::of(answer.as<std::uint64_t>()) : std::nullopt;
    if (!manifest)
      throw BadMessage(answers_.endpoint.known_as(donors_.front()), answer.size(),
                       "a list of the state's pieces");
    return *std::move(manifest);
  }
  std::size_t donors() const override { return donors_.size(); }
  void ask_piece(std::size_t donor, std::size_t piece) override {
    ask(donor, {StateRequest::Kind::piece, piece});
  }

  std::optional<PartAnswer> next_piece() override {
    for (;;) {
      const Received received = answers_.receive(answers_.endpoint.now() + answers_.timeout.limit());
      if (received.outcome == Received::Outcome::timed_out)
        answers_.give_up(donors_.front(), received.outcome);
      const auto place = std::ranges::find(donors_, received.from);
      if (place == donors_.end()) continue;  // a node that is no donor is lost
      const auto donor = static_cast<std::size_t>(place - donors_.begin());
      // A damaged answer counts as a lost donor: the others have the piece, too.
      const auto answer = try_unpack<std::uint64_t>(received.message);
      if (received.outcome != Received::Outcome::message || !answer)
        return PartAnswer{.donor = donor, .part = 0, .message = {}};
      return PartAnswer{donor, answer->fields, received.message, sizeof answer->fields};
    }
  }

  StepAnswer step_made(std::uint64_t step) override {
    ask(0, {StateRequest::Kind::update, step});
    const Message answer = answers_.expect(donors_.front());
    const auto unpacked = try_unpack<UpdateHead>(answer);
    if (!unpacked) return {};  // the donor has not kept that step
    const auto& [head, bytes] = *unpacked;
    return {StepAnswer::Kind::made,
            {head.by, step, head.steps, head.rate, head.scale, {bytes.begin(), bytes.end()}},
            answer.size()};
  }

  void done() override {
    for (std::size_t donor = 0; donor < donors_.size(); ++donor) ask(donor, {StateRequest::Kind::done, 0});
  }
  [[noreturn]] void fail() const { answers_.give_up(donors_.front(), Received::Outcome::peer_lost); }

 private:
  void ask(std::size_t donor, const StateRequest& request) {
    requests_.send(donors_[donor], requests_.pool.copy_of_item(request));
  }

  Channel requests_, answers_;
  const std::vector<NodeId>& donors_;
};

// The answer to `update`; empty if that step was not kept.
Message update_of(const NodeSelf& self, std::uint64_t step, MessagePool& pool) {
  const auto made = self.lending ? self.lending->step_made(step) : nullptr;
  if (!made) return {};
  const UpdateHead head{made->by, made->steps, made->rate, made->scale};
  return pack(pool, head, std::span<const std::byte>(made->bytes));
}

}  // namespace

Fetched fetch_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors, const Goal& goal) {
  ChannelSource source(channel, donors);
  StateFetcher fetcher(self, source);
  const std::uint64_t first = self.step;
  const bool near = goal.hash != 0 && self.has_state && self.step < goal.step;
  Fetched fetched;
  if (near && fetcher.replay(goal.step) && state_hash(self) == goal.hash) {
    fetched = {.complete = true, .steps = self.step - first};
    source.done();
  } else {
    fetched = fetcher.copy(source.manifest());
  }
  if (!fetched.complete) source.fail();
  if (self.lending) self.lending->clear();
  return fetched;
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
    if (!known) throw RunError("a request for the state comes from a node that needs none");
    const auto request = unpack_item<StateRequest>(
        received.message, requests.endpoint.known_as(received.from), "a request for the state");
    if (request.kind == StateRequest::Kind::done) {
      std::erase(served, received.from);
    } else if (request.kind == StateRequest::Kind::manifest) {
      const std::vector<std::uint64_t> words = pieces.manifest().coded();
      answers.send(received.from, answers.pool.copy_of(std::span<const std::uint64_t>(words)));
    } else if (request.kind == StateRequest::Kind::update) {
      answers.send(received.from, update_of(self, request.piece, answers.pool));
    } else if (request.piece < pieces.count()) {
      const std::span<const std::byte> piece = pieces[request.piece];
      answers.send(received.from, pack(answers.pool, request.piece, piece));
    }
  }
}

}  // namespace veche
