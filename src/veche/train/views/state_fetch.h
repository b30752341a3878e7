#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "veche/train/views/piece_plan.h"
#include "veche/train/views/state_pieces.h"
#include "veche/train/views/state_request.h"

namespace veche {

// The answer to a request for a part.
struct PartAnswer {
  std::size_t donor = 0, part = 0;
  StateReply reply;  // if the part is not here, the donor is asked no more
};

// Fetches the missing parts of a plan from any of its donors: `ask(donor, part)` sends a request,
// `next()` returns a PartAnswer, or nothing if none will come, and `take(part, content)` returns
// whether the content is right. Returns whether all parts came.
template <class Ask, class Next, class Take>
bool fetch_parts(PiecePlan& plan, std::size_t donors, Ask ask, Next next, Take take) {
  while (!plan.complete()) {
    for (std::size_t donor = 0; donor < donors; ++donor)
      while (const auto part = plan.next(donor)) ask(donor, *part);
    if (plan.hopeless()) return false;
    const std::optional<PartAnswer> answer = next();
    if (!answer) return false;
    if (answer->reply.outcome != StateReply::Outcome::here || answer->part >= plan.size())
      plan.lost(answer->donor);
    else if (take(answer->part, answer->reply.content))
      plan.arrived(answer->part);
    else
      plan.refused(answer->part, answer->donor);
  }
  return true;
}

// Carries requests to nodes that all have the same state, and their answers back: over the channel
// of a view (state_transfer.cc), or by name while this node is in no view (catch_up.cc).
class StateTransport {
 public:
  struct Answer {
    std::size_t donor = 0;
    std::optional<StateRequest> request = {};  // nothing: the donor is gone
    StateReply reply = {};
  };
  virtual ~StateTransport() = default;
  virtual void ask(std::size_t donor, const StateRequest& request) = 0;
  // The next answer; nothing: none has come for so long that none will.
  virtual std::optional<Answer> next() = 0;
};

// How much a fetcher has fetched.
struct Fetched {
  bool complete = false;
  std::size_t pieces = 0, of = 0;  // pieces that had to come, of all; the others were here already
  std::uint64_t steps = 0;         // instead of pieces: steps that were replayed
};

// Brings the state of donors to a node.
class StateFetcher {
 public:
  StateFetcher(MemberState& self, StateTransport& transport) : self_(self), transport_(transport) {}

  // Asks one node and waits for its answer.
  StateReply ask(std::size_t donor, const StateRequest& request);

  // Where the following fetch from, at least one node.
  void choose(std::vector<std::size_t> donors, std::uint64_t copy);
  // Makes this node's state the one of the manifest: fetches the pieces that differ. Not complete:
  // some pieces did not come. The node then has what it had, and the pieces that came are kept and
  // not fetched again. Throws RunError if the state is of another model.
  Fetched copy(const StateManifest& wanted);
  // Replays the donors' steps until this node has made `until`, or all that there are. Returns
  // whether it has; gives up early if fetching the whole state takes fewer bytes.
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  bool replay(std::uint64_t until = kAll);

 private:
  // The bytes of a step, hash-checked; nothing: they did not come.
  std::optional<std::vector<std::byte>> bytes_of_step(std::uint64_t step, const UpdateReply& word);
  std::optional<PartAnswer> next_part(StateRequest::What what, std::uint64_t of);

  MemberState& self_;
  StateTransport& transport_;
  std::vector<std::size_t> donors_;
  std::uint64_t copy_ = StateRequest::kAsItIs;
};

}  // namespace veche
