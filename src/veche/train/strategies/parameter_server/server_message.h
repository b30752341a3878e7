#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/message.h"
#include "veche/node_id.h"

namespace veche {

// A message between workers and servers: numbers first, then the workers that it concerns.
struct ServerMessage {
  enum class Kind : std::uint32_t {
    join,        // worker up: it will push from this clock on, and wants the parameters
    push,        // worker up: its gradient, or nothing when that was lost; several may have been added up
    parameters,  // server down: the answer to a push or a fetch
    fetch,       // worker up: the parameters at the end
    leave,       // worker up: it will push no more
    changes,     // server down, with a codec: a code of the difference from the last answer
  };
  struct Party {
    std::uint64_t worker = 0;
    std::uint64_t clock = 0;    // steps it had made before this one
    std::uint64_t version = 0;  // of the parameters that it has, or gets
  };

  Kind kind = Kind::push;
  std::uint32_t server = 0;
  std::vector<Party> parties;
  Message message;        // holds the numbers, or a code, at its beginning
  std::size_t bytes = 0;  // of the numbers or the code
  std::size_t size = 0;   // how many numbers

  std::span<const float> numbers() const { return message.first(size * sizeof(float)).as<float>(); }
  Message code() const { return message.first(bytes); }
};

Message seal(MessagePool& pool, ServerMessage::Kind kind, std::size_t server,
             std::span<const ServerMessage::Party> parties, std::span<const std::byte> content);
inline Message seal(MessagePool& pool, ServerMessage::Kind kind, std::size_t server,
                    std::span<const ServerMessage::Party> parties, std::span<const float> numbers) {
  return seal(pool, kind, server, parties, std::as_bytes(numbers));
}
// What messages of a cluster can hold.
struct ServerMessageLimits {
  std::size_t workers = 0;
  std::vector<std::size_t> lengths = {};  // of the servers' parts of the vector, in numbers
  bool coded = false;                     // workers push codes, which check their own length
};
// Throws BadMessage, which names `from`, the sender as people know it, unless the message names a
// server and at least one worker, all of them in the cluster, and has the numbers of its kind: all
// of the part, or none.
ServerMessage open(Message message, NodeId from, const ServerMessageLimits& limits);

}  // namespace veche
