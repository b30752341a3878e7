#include "veche/train/strategies/parameter_server/server_message.h"

#include <cstring>
#include <string>

#include "veche/packed.h"

namespace veche {
namespace {

struct End {  // of a message: says what is before it
  ServerMessage::Kind kind;
  std::uint32_t server;
  std::uint64_t parties;
};

}  // namespace

Message seal(MessagePool& pool, ServerMessage::Kind kind, std::size_t server,
             std::span<const ServerMessage::Party> parties, std::span<const std::byte> content) {
  const End end{kind, static_cast<std::uint32_t>(server), parties.size()};
  return pack_bytes(pool, {content, std::as_bytes(parties), bytes_of(end)});
}

ServerMessage open(Message message, NodeId from) {
  const auto [end, before] = unpack_with_trailer<End>(message, from, "a message of a parameter server");
  if (end.parties > before.size() / sizeof(ServerMessage::Party))
    throw BadMessage(from, message.size(),
                     "a message of a parameter server with " + std::to_string(end.parties) + " parties");
  ServerMessage result;
  result.kind = end.kind;
  result.server = end.server;
  result.parties.resize(end.parties);
  const std::size_t parties = end.parties * sizeof(ServerMessage::Party);
  if (parties > 0) std::memcpy(result.parties.data(), before.last(parties).data(), parties);
  result.bytes = before.size() - parties;
  result.size = result.bytes / sizeof(float);
  result.message = std::move(message);
  return result;
}

}  // namespace veche
