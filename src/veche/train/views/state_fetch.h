#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "veche/message.h"
#include "veche/train/views/piece_plan.h"
#include "veche/train/views/state_lending.h"
#include "veche/train/views/state_pieces.h"

namespace veche {

// A part of something that was asked of a donor.
struct PartAnswer {
  std::size_t donor = 0, part = 0;
  std::optional<Message> message;  // nothing: the donor does not have it, or is gone, and is asked no more
  std::size_t head = 0;            // bytes before the content

  std::span<const std::byte> content() const { return message->bytes().subspan(head); }
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
    if (!answer->message || answer->part >= plan.size())
      plan.lost(answer->donor);
    else if (take(answer->part, answer->content()))
      plan.arrived(answer->part);
    else
      plan.refused(answer->part, answer->donor);
  }
  return true;
}

// How donors made a step.
struct StepAnswer {
  enum class Kind {
    made,     // `step` tells how
    not_yet,  // no donor has made it
    unknown,  // no donor can tell any more
  } kind = Kind::unknown;
  StepMade step = {};
  std::uint64_t bytes = 0;  // of the answer
};

// Nodes that all have the same state, and the way to ask them: over the channel of a view
// (state_transfer.cc) or by name while this node is in no view (catch_up.cc).
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual std::size_t donors() const = 0;
  virtual void ask_piece(std::size_t donor, std::size_t piece) = 0;
  virtual std::optional<PartAnswer> next_piece() = 0;  // as for fetch_parts
  virtual StepAnswer step_made(std::uint64_t step) = 0;
  virtual void done() {}  // nothing more will be asked
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
  StateFetcher(NodeSelf& self, StateSource& source) : self_(self), source_(source) {}

  // Makes this node's state the one of the manifest: fetches the pieces that differ. Not complete:
  // some pieces did not come. The node then has what it had, and the pieces that came are kept and
  // not fetched again. Throws RunError if the state is of another model.
  Fetched copy(const StateManifest& wanted);
  // Replays the donors' steps until this node has made `until`, or all that there are. Returns
  // whether it has; gives up early if fetching the whole state takes fewer bytes.
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  bool replay(std::uint64_t until = kAll);

 private:
  NodeSelf& self_;
  StateSource& source_;
};

}  // namespace veche
