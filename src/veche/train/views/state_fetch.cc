#include "veche/train/views/state_fetch.h"

#include <algorithm>

#include "veche/base/files/content_hash.h"
#include "veche/errors.h"

namespace veche {

Fetched StateFetcher::copy(const StateManifest& wanted) {
  fit_state(self_, wanted.lengths);
  const StatePieces pieces(self_);
  if (pieces.count() != wanted.hashes.size()) throw RunError("a list of the state's pieces is damaged");
  std::erase_if(self_.fetched, [&](const auto& piece) {  // of a state that no donor has any more
    return std::ranges::find(wanted.hashes, piece.first) == wanted.hashes.end();
  });
  std::vector<std::uint64_t> here = pieces.manifest().hashes;
  for (std::size_t i = 0; i < here.size(); ++i)
    if (self_.fetched.contains(wanted.hashes[i])) here[i] = wanted.hashes[i];
  PiecePlan plan(wanted.hashes, here, source_.donors());
  Fetched result{.pieces = plan.missing(), .of = pieces.count()};
  result.complete = fetch_parts(
      plan, source_.donors(), [&](std::size_t donor, std::size_t piece) { source_.ask_piece(donor, piece); },
      [&] { return source_.next_piece(); },
      [&](std::size_t piece, std::span<const std::byte> content) {
        if (content.size() != pieces[piece].size() || content_hash(content) != wanted.hashes[piece])
          return false;
        self_.fetched[wanted.hashes[piece]].assign(content.begin(), content.end());
        return true;
      });
  if (!result.complete) return result;
  source_.done();
  // Only now: an incomplete state is worth less than what this node had.
  for (std::size_t i = 0; i < pieces.count(); ++i)
    if (const auto found = self_.fetched.find(wanted.hashes[i]); found != self_.fetched.end())
      pieces.put(i, found->second);
  self_.fetched.clear();
  return result;
}

bool StateFetcher::replay(std::uint64_t until) {
  const std::uint64_t whole =
      self_.learner->parameters().size_bytes() * (2 + self_.optimizer->state().size());
  while (self_.step < until) {
    const StepAnswer answer = source_.step_made(self_.step);
    if (answer.kind == StepAnswer::Kind::not_yet) return until == kAll;
    if (answer.kind == StepAnswer::Kind::unknown) return false;
    if (until != kAll && answer.bytes * (until - self_.step) > whole) return false;
    if (!repeat_step(self_, answer.step)) return false;
  }
  return true;
}

}  // namespace veche
