#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veche/message.h"
#include "veche/train/views/state_lending.h"

namespace veche {

// Who lends its state to this process, by whatever way; numbered, and gone when it does not answer any more.
class Lenders {
 public:
  struct Answer {
    std::uint64_t id = 0;
    std::optional<Message> message;  // as StateLending::give says; nothing also where it is gone
  };
  static constexpr Time kPause{0.02};
  virtual ~Lenders() = default;
  virtual std::size_t count() = 0;  // of those known now; more may come
  virtual void ask(std::size_t lender, std::uint64_t id, const std::string& name, std::uint64_t offset,
                   std::uint32_t length) = 0;
  // The next answer to come; nothing: none has, for so long that none will.
  virtual std::optional<Answer> next() = 0;
  // Lets kPause pass, nothing being asked; false: somebody wants this process to end.
  virtual bool pause() = 0;
};

struct CaughtUp {
  bool done = false;
  std::size_t pieces = 0, of = 0, lenders = 0;  // so many came; the others were here already
  std::uint64_t copied = 0, step = 0;           // the copy's step, and where it is now
};

// Brings a node that is in no view yet to where those who train are, while they train on: a copy of the state
// in pieces, from up to four of them where models are shared, and then the steps that have changed since what
// is, until there is none that it has not. Not done: nobody lends, or it could not keep up; the node then has
// what it had before, or a later state that somebody had.
CaughtUp catch_up(NodeSelf& self, Lenders& lenders, Shared shared);

}  // namespace veche
