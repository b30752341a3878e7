#include "veche/comm/grid/discovery/lan_messages.h"

#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::string_view kLanMagic = "VECHELA1";

}  // namespace

std::string coded(const LanMessage& word) {
  return Writer()
      .raw(kLanMagic)
      .number(static_cast<std::uint8_t>(word.kind))
      .bytes(word.topic)
      .number(word.port)
      .number(word.sender)
      .take();
}

LanMessage read_lan_word(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.raw(kLanMagic.size()) != kLanMagic) throw MalformedMessage("this is no word of a grid");
  LanMessage word;
  word.kind = static_cast<LanMessage::Kind>(reader.number<std::uint8_t>());
  if (word.kind != LanMessage::Kind::seek && word.kind != LanMessage::Kind::here)
    throw MalformedMessage("it neither seeks nor is here");
  word.topic = reader.bytes<32>();
  word.port = reader.number<std::uint16_t>();
  word.sender = reader.number<std::uint64_t>();
  reader.end();
  return word;
}

}  // namespace veche::grid
