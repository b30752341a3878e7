#include "veche/train/views/state_fetch.h"

#include <algorithm>

#include "veche/base/files/content_hash.h"
#include "veche/errors.h"

namespace veche {

StateReply StateFetcher::ask(std::size_t donor, const StateRequest& request) {
  transport_.ask(donor, request);
  while (const auto answer = transport_.next())
    if (answer->donor == donor && (!answer->request || *answer->request == request)) return answer->reply;
  return {};
}

void StateFetcher::choose(std::vector<std::size_t> donors, std::uint64_t copy) {
  donors_ = std::move(donors);
  copy_ = copy;
}

// Skips late answers to earlier requests.
std::optional<PartAnswer> StateFetcher::next_part(StateRequest::What what, std::uint64_t of) {
  while (const auto answer = transport_.next()) {
    const auto place = std::ranges::find(donors_, answer->donor);
    if (place == donors_.end()) continue;
    const auto donor = static_cast<std::size_t>(place - donors_.begin());
    if (!answer->request) return PartAnswer{.donor = donor, .part = 0, .reply = {}};
    if (answer->request->what == what && answer->request->of == of)
      return PartAnswer{donor, answer->request->part, answer->reply};
  }
  return {};
}

Fetched StateFetcher::copy(const StateManifest& wanted) {
  fit_state(self_, wanted.lengths);
  const StatePieces pieces(self_);
  if (pieces.count() != wanted.hashes.size()) throw RunError("a list of the state's pieces is damaged");
  std::erase_if(self_.fetched, [&](const auto& piece) {  // of a state that no donor has any more
    return std::ranges::find(wanted.hashes, piece.first) == wanted.hashes.end();
  });
  std::vector<std::uint64_t> here = pieces.cut().hashes();
  for (std::size_t i = 0; i < here.size(); ++i)
    if (self_.fetched.contains(wanted.hashes[i])) here[i] = wanted.hashes[i];
  PiecePlan plan(wanted.hashes, here, donors_.size());
  Fetched result{.pieces = plan.missing(), .of = pieces.count()};
  result.complete = fetch_parts(
      plan, donors_.size(),
      [&](std::size_t donor, std::size_t piece) {
        transport_.ask(donors_[donor], {StateRequest::What::piece, copy_, piece});
      },
      [&] { return next_part(StateRequest::What::piece, copy_); },
      [&](std::size_t piece, std::span<const std::byte> content) {
        if (content.size() != pieces[piece].size() || content_hash(content) != wanted.hashes[piece])
          return false;
        self_.fetched[wanted.hashes[piece]].assign(content.begin(), content.end());
        return true;
      });
  if (!result.complete) return result;
  // Only now: an incomplete state is worth less than what this node had.
  for (std::size_t i = 0; i < pieces.count(); ++i)
    if (const auto found = self_.fetched.find(wanted.hashes[i]); found != self_.fetched.end())
      pieces.put(i, found->second);
  self_.fetched.clear();
  return result;
}

std::optional<std::vector<std::byte>> StateFetcher::bytes_of_step(std::uint64_t step,
                                                                  const UpdateReply& word) {
  constexpr std::size_t kPart = StateRequest::kPartBytes;
  std::vector<std::byte> bytes(word.bytes);
  PiecePlan plan(std::vector<std::uint64_t>((bytes.size() + kPart - 1) / kPart, 1), {}, donors_.size());
  const bool all = fetch_parts(
      plan, donors_.size(),
      [&](std::size_t donor, std::size_t part) {
        transport_.ask(donors_[donor], {StateRequest::What::gradient, step, part});
      },
      [&] { return next_part(StateRequest::What::gradient, step); },
      [&](std::size_t part, std::span<const std::byte> content) {
        const std::size_t from = part * kPart;
        if (content.size() != std::min(kPart, bytes.size() - from)) return false;
        std::ranges::copy(content, bytes.begin() + static_cast<std::ptrdiff_t>(from));
        return true;
      });
  if (!all || content_hash(bytes) != word.hash) return {};
  return bytes;
}

bool StateFetcher::replay(std::uint64_t until) {
  const std::uint64_t whole =
      self_.learner->parameters().size_bytes() * (2 + self_.optimizer->state().size());
  while (self_.step < until) {
    const StateReply reply = ask(donors_.front(), {StateRequest::What::update, self_.step});
    if (reply.outcome == StateReply::Outcome::not_yet) return until == kAll;
    const auto word = reply.item<UpdateReply>();
    // A step's bytes are never more than the vectors that it changes.
    if (!word || word->bytes > bytes_in(shared_vectors(self_))) return false;
    if (until != kAll && (sizeof *word + word->bytes) * (until - self_.step) > whole) return false;
    auto bytes = bytes_of_step(self_.step, *word);
    if (!bytes) return false;
    if (!repeat_step(self_, {word->by, self_.step, word->steps, word->rate, word->scale, std::move(*bytes)}))
      return false;
  }
  return true;
}

}  // namespace veche
