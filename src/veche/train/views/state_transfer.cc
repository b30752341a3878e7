#include "veche/train/views/state_transfer.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/train/views/state_donor.h"
#include "veche/train/views/state_server.h"

namespace veche {
namespace {

// Before the content of an answer.
struct ReplyHead {
  StateRequest request;
  StateReply::Outcome outcome = StateReply::Outcome::never;
};

// Donors in this node's view.
class ChannelTransport : public StateTransport {
 public:
  ChannelTransport(Channel& channel, const std::vector<NodeId>& donors)
      : requests_(channel.child(tags::kStateRequests)),
        answers_(channel.child(tags::kStateAnswers)),
        donors_(donors),
        gone_(donors.size()) {}

  void ask(std::size_t donor, const StateRequest& request) override {
    if (gone_[donor])
      ready_.push_back({.donor = donor});
    else
      requests_.send(donors_[donor], requests_.pool.copy_of_item(request));
  }

  std::optional<Answer> next() override {
    if (!ready_.empty()) {
      Answer answer = ready_.front();
      ready_.pop_front();
      return answer;
    }
    for (;;) {
      const Received received = answers_.receive(answers_.endpoint.now() + answers_.timeout.limit());
      if (received.outcome == Received::Outcome::timed_out)
        answers_.give_up(donors_.front(), received.outcome);
      const auto place = std::ranges::find(donors_, received.from);
      if (place == donors_.end()) continue;  // a node that is no donor is lost
      const auto donor = static_cast<std::size_t>(place - donors_.begin());
      // A donor whose answer is damaged counts as lost: the others have the state, too.
      const auto answer = try_unpack<ReplyHead>(received.message);
      if (received.outcome != Received::Outcome::message || !answer) {
        gone_[donor] = true;
        return Answer{.donor = donor};
      }
      StateReply reply = StateReply::in(received.message, sizeof(ReplyHead));
      reply.outcome = answer->fields.outcome;
      return Answer{donor, answer->fields.request, std::move(reply)};
    }
  }

  void done() {
    for (const NodeId donor : donors_)
      requests_.send(donor, requests_.pool.copy_of_item(StateRequest{.what = StateRequest::What::done}));
  }
  [[noreturn]] void fail() const { answers_.give_up(donors_.front(), Received::Outcome::peer_lost); }

 private:
  Channel requests_, answers_;
  const std::vector<NodeId>& donors_;
  std::vector<bool> gone_;
  std::deque<Answer> ready_;  // of donors that were gone when they were asked
};

}  // namespace

Fetched fetch_state(MemberState& self, Channel& channel, const std::vector<NodeId>& donors,
                    const Goal& goal) {
  ChannelTransport transport(channel, donors);
  StateFetcher fetcher(self, transport);
  std::vector<std::size_t> all(donors.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  fetcher.choose(all, StateRequest::kAsItIs);
  const std::uint64_t first = self.step;
  const bool near = goal.hash != 0 && self.has_state && self.step < goal.step;
  Fetched fetched;
  if (near && fetcher.replay(goal.step) && state_hash(self) == goal.hash) {
    fetched = {.complete = true, .steps = self.step - first};
  } else {
    const StateReply manifest = fetcher.ask(0, {StateRequest::What::manifest, StateRequest::kAsItIs});
    if (manifest.outcome == StateReply::Outcome::here) {
      const std::optional<StateManifest> pieces = StateManifest::of(manifest.content);
      if (!pieces)
        throw BadMessage(channel.endpoint.known_as(donors.front()), manifest.content.size(),
                         "a list of the state's pieces");
      fetched = fetcher.copy(*pieces);
    }
  }
  if (!fetched.complete) transport.fail();
  transport.done();
  if (self.donor) self.donor->clear();
  return fetched;
}

void serve_state(MemberState& self, Channel& channel, const std::vector<NodeId>& takers) {
  if (takers.empty()) return;
  Channel requests = channel.child(tags::kStateRequests), answers = channel.child(tags::kStateAnswers);
  const StatePieces pieces(self);
  const StateServer server(pieces.cut(), StateRequest::kAsItIs, self.step, self.donor.get());
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
    if (request.what == StateRequest::What::done) {
      std::erase(served, received.from);
      continue;
    }
    const StateReply reply = server.answer(request);
    answers.send(received.from, pack(answers.pool, ReplyHead{request, reply.outcome}, reply.content));
  }
}

}  // namespace veche
