#include "veche/train/strategies/parameter_server/server_message.h"

#include <algorithm>
#include <string>

#include "veche/packed.h"

namespace veche {
namespace {

struct End {  // of a message: says what is before it
  ServerMessage::Kind kind;
  std::uint32_t server;
  std::uint64_t parties;
};

bool has_bytes_of_kind(const ServerMessage& message, const ServerMessageLimits& limits) {
  const std::size_t all = limits.lengths[message.server] * sizeof(float);
  switch (message.kind) {
    case ServerMessage::Kind::join:
    case ServerMessage::Kind::fetch:
    case ServerMessage::Kind::leave:
      return message.bytes == 0;
    case ServerMessage::Kind::push:
      return limits.coded || message.bytes == 0 || message.bytes == all;  // nothing: it was lost
    case ServerMessage::Kind::parameters:
      return message.bytes == all;
    case ServerMessage::Kind::changes:
      return limits.coded;
  }
  return false;  // no kind that there is
}

}  // namespace

Message seal(MessagePool& pool, ServerMessage::Kind kind, std::size_t server,
             std::span<const ServerMessage::Party> parties, std::span<const std::byte> content) {
  const End end{kind, static_cast<std::uint32_t>(server), parties.size()};
  return pack_bytes(pool, {content, std::as_bytes(parties), bytes_of(end)});
}

ServerMessage open(Message message, NodeId from, const ServerMessageLimits& limits) {
  const auto refuse = [&](const std::string& what) {
    throw BadMessage(from, message.size(), "a message of a parameter server " + what);
  };
  const auto [end, before] = unpack_with_trailer<End>(message, from, "a message of a parameter server");
  if (end.parties == 0 || end.parties > before.size() / sizeof(ServerMessage::Party))
    refuse("with " + (end.parties == 0 ? "at least one party" : std::to_string(end.parties) + " parties"));
  if (end.server >= limits.lengths.size())
    refuse("of a server below " + std::to_string(limits.lengths.size()));
  ServerMessage result;
  result.kind = end.kind;
  result.server = end.server;
  const std::size_t parties = end.parties * sizeof(ServerMessage::Party);
  result.parties = copied_items<ServerMessage::Party>(before.last(parties));
  result.bytes = before.size() - parties;
  result.size = result.bytes / sizeof(float);
  if (std::ranges::any_of(result.parties, [&](const auto& party) { return party.worker >= limits.workers; }))
    refuse("of workers below " + std::to_string(limits.workers));
  if (!has_bytes_of_kind(result, limits))
    refuse("of a known kind with its numbers, " + std::to_string(limits.lengths[end.server]) + " or none");
  result.message = std::move(message);
  return result;
}

}  // namespace veche
