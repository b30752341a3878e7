#include "veche/train/strategies/parameter_server/server_message.h"

#include <algorithm>
#include <cstring>

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
  Message message = pool.make(content.size() + parties.size_bytes() + sizeof(End));
  std::byte* at = message.writable<std::byte>().data();
  const End end{kind, static_cast<std::uint32_t>(server), parties.size()};
  if (!content.empty()) std::memcpy(at, content.data(), content.size());
  if (!parties.empty()) std::memcpy(at + content.size(), parties.data(), parties.size_bytes());
  std::memcpy(at + content.size() + parties.size_bytes(), &end, sizeof end);
  return message;
}

ServerMessage open(Message message) {
  End end;
  const std::span<const std::byte> bytes = message.bytes();
  std::memcpy(&end, bytes.last(sizeof end).data(), sizeof end);
  ServerMessage result;
  result.kind = end.kind;
  result.server = end.server;
  result.parties.resize(end.parties);
  const std::size_t trailer = sizeof end + end.parties * sizeof(ServerMessage::Party);
  if (end.parties > 0)
    std::memcpy(result.parties.data(), bytes.last(trailer).data(),
                end.parties * sizeof(ServerMessage::Party));
  result.bytes = bytes.size() - trailer;
  result.size = result.bytes / sizeof(float);
  result.message = std::move(message);
  return result;
}

}  // namespace veche
