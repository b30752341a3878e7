#include "veche/train/views/state_transfer.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "veche/base/content_hash.h"
#include "veche/errors.h"
#include "veche/train/views/piece_plan.h"

namespace veche {
namespace {

enum StateTalk : std::uint64_t { kStateRequests, kStateAnswers };

struct StateRequest {
  enum class Kind : std::uint64_t { manifest, piece, done } kind = Kind::manifest;
  std::uint64_t piece = 0;
};

Message as_message(const StateManifest& manifest, MessagePool& pool) {
  std::vector<std::uint64_t> words{manifest.lengths.size(), manifest.hashes.size()};
  words.insert(words.end(), manifest.lengths.begin(), manifest.lengths.end());
  words.insert(words.end(), manifest.hashes.begin(), manifest.hashes.end());
  return pool.copy_of(std::span<const std::uint64_t>(words));
}

StateManifest read_manifest(const Message& message) {
  const std::span<const std::uint64_t> words = message.as<std::uint64_t>();
  if (words.size() < 2 || words[0] > words.size() - 2 || words[1] != words.size() - 2 - words[0])
    throw RunError("a list of the state's pieces is damaged");
  StateManifest manifest;
  manifest.lengths.assign(words.begin() + 2, words.begin() + 2 + static_cast<std::ptrdiff_t>(words[0]));
  manifest.hashes.assign(words.begin() + 2 + static_cast<std::ptrdiff_t>(words[0]), words.end());
  return manifest;
}

class StateFetch {
 public:
  StateFetch(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors)
      : self_(self),
        requests_(channel.child(kStateRequests)),
        answers_(channel.child(kStateAnswers)),
        donors_(donors) {}

  Fetched run() {
    ask(0, {StateRequest::Kind::manifest, 0});
    const StateManifest wanted = read_manifest(answers_.expect(donors_.front()));
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
    for (std::size_t donor = 0; donor < donors_.size(); ++donor) ask(donor, {StateRequest::Kind::done, 0});
    // Only now: until all of it was here, what this node had itself was worth more.
    for (std::size_t i = 0; i < pieces.count(); ++i)
      if (const auto found = self_.fetched.find(wanted.hashes[i]); found != self_.fetched.end())
        std::ranges::copy(found->second, pieces[i].begin());
    self_.fetched.clear();
    return result;
  }

 private:
  void ask(std::size_t donor, const StateRequest& request) {
    requests_.send(donors_[donor], requests_.pool.copy_of_item(request));
  }

  void take(PiecePlan& plan, const StatePieces& pieces, const std::vector<std::uint64_t>& hashes) {
    const Received received = answers_.receive(answers_.endpoint.now() + answers_.patience.limit());
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

}  // namespace

Fetched fetch_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors) {
  return StateFetch(self, channel, donors).run();
}

void serve_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& takers) {
  if (takers.empty()) return;
  Channel requests = channel.child(kStateRequests), answers = channel.child(kStateAnswers);
  const StatePieces pieces(self);
  std::vector<NodeId> served = takers;
  while (!served.empty()) {
    const Received received = requests.receive(requests.endpoint.now() + requests.patience.limit());
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
      answers.send(received.from, as_message(pieces.manifest(), answers.pool));
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
