#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veche/message.h"
#include "veche/train/views/state_donor.h"

namespace veche {

// Members that give their state to a process that is in no view yet, asked by name. They are
// numbered; a donor that is gone answers with nothing.
class Donors {
 public:
  struct Answer {
    std::uint64_t id = 0;
    std::optional<Message> message;  // see StateDonor::answer; nothing also if the donor is gone
  };
  static constexpr Time kPause{0.02};
  virtual ~Donors() = default;
  virtual std::size_t count() = 0;  // known now; more may come
  virtual void ask(std::size_t donor, std::uint64_t id, const std::string& name, std::uint64_t offset,
                   std::uint32_t length) = 0;
  // The next answer; nothing: none has come for so long that none will.
  virtual std::optional<Answer> next() = 0;
  // Sleeps for kPause while nothing is asked; false: the user wants this process to end.
  virtual bool pause() = 0;
};

struct CaughtUp {
  bool done = false;
  std::size_t pieces = 0, of = 0, donors = 0;  // pieces fetched, of all; the others were here already
  std::uint64_t copied = 0, step = 0;          // the copy's step, and the node's step now
};

// Brings a node that is in no view yet to the state of the members that train, while they go on:
// fetches a copy of their state, from up to four of them if their models are equal, then replays
// the steps made since the copy until it is up to date. Not done: no member gives its state, or the
// node could not keep up. It then has what it had before, or a later state of a donor.
CaughtUp catch_up(MemberState& self, Donors& donors, Shared shared);

}  // namespace veche
