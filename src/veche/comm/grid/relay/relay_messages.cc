#include "veche/comm/grid/relay/relay_messages.h"

#include <algorithm>

#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::string_view kMagic = "VECHERL1";
constexpr std::size_t kMostToldAddresses = 16;
constexpr std::size_t kLongestTold = 256;

}  // namespace

std::string coded(const MemberId& id) { return Writer().bytes(id.bytes).take(); }

MemberId read_id(std::string_view text) {
  Reader reader(text);
  const MemberId id{reader.bytes<32>()};
  reader.end();
  return id;
}

std::string coded(const Token& token) { return Writer().bytes(token).take(); }

Token read_token(std::string_view text) {
  Reader reader(text);
  const Token token = reader.bytes<32>();
  reader.end();
  return token;
}

std::string coded(const Introduction& introduction) {
  const std::size_t addresses = std::min(introduction.addresses.size(), kMostToldAddresses);
  Writer writer;
  writer.bytes(introduction.who.bytes).number(static_cast<std::uint32_t>(addresses));
  for (std::size_t i = 0; i < addresses; ++i) writer.text(introduction.addresses[i].substr(0, kLongestTold));
  return writer.take();
}

Introduction read_introduction(std::string_view text) {
  Reader reader(text);
  Introduction introduction{{reader.bytes<32>()}, {}};
  introduction.addresses.resize(reader.count(kMostToldAddresses, 4));
  for (std::string& address : introduction.addresses) address = reader.text(kLongestTold);
  reader.end();
  return introduction;
}

std::string coded(const Relayed& relayed) {
  return Writer().bytes(relayed.who.bytes).bytes(relayed.token).take();
}

Relayed read_relayed(std::string_view text) {
  Reader reader(text);
  const MemberId who{reader.bytes<32>()};
  const Token token = reader.bytes<32>();
  reader.end();
  return {who, token};
}

std::string preamble(const Token& token) { return Writer().raw(kMagic).bytes(token).take(); }

Token read_preamble(std::span<const char, kPreambleBytes> bytes) {
  Reader reader(std::string_view(bytes.data(), bytes.size()));
  if (reader.raw(kMagic.size()) != kMagic) throw MalformedMessage("a connection begins with something else");
  return reader.bytes<32>();
}

}  // namespace veche::grid
