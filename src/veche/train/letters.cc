#include "veche/train/letters.h"

#include <algorithm>
#include <cstring>

namespace veche {
namespace {

struct End {  // of a message: says what is before it
  Letter::Kind kind;
  std::uint32_t server;
  std::uint64_t parties;
};

}  // namespace

Message seal(MessagePool& pool, Letter::Kind kind, std::size_t server, std::span<const Letter::Party> parties,
             std::span<const float> numbers) {
  Message message = pool.make(numbers.size_bytes() + parties.size_bytes() + sizeof(End));
  std::byte* at = message.writable<std::byte>().data();
  const End end{kind, static_cast<std::uint32_t>(server), parties.size()};
  if (!numbers.empty()) std::memcpy(at, numbers.data(), numbers.size_bytes());
  if (!parties.empty()) std::memcpy(at + numbers.size_bytes(), parties.data(), parties.size_bytes());
  std::memcpy(at + numbers.size_bytes() + parties.size_bytes(), &end, sizeof end);
  return message;
}

Letter open(Message message) {
  End end;
  const std::span<const std::byte> bytes = message.bytes();
  std::memcpy(&end, bytes.last(sizeof end).data(), sizeof end);
  Letter letter;
  letter.kind = end.kind;
  letter.server = end.server;
  letter.parties.resize(end.parties);
  const std::size_t trailer = sizeof end + end.parties * sizeof(Letter::Party);
  if (end.parties > 0)
    std::memcpy(letter.parties.data(), bytes.last(trailer).data(), end.parties * sizeof(Letter::Party));
  letter.size = (bytes.size() - trailer) / sizeof(float);
  letter.message = std::move(message);
  return letter;
}

}  // namespace veche
