#include "veche/comm/grid/links/frames.h"

#include <algorithm>

#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::uint16_t kProtocol = 5;
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostAddresses = 16;
constexpr std::size_t kMostCertificates = 4096;
constexpr std::size_t kLongestCertificate = 4096;

std::uint32_t longest(Kind kind) {
  switch (kind) {
    case Kind::hello:
    case Kind::word:
    case Kind::request:
    case Kind::answer:
      return kLongestText;
    case Kind::data:
      return kPieceBytes + kDataHeadBytes;
    case Kind::more:
      return kPieceBytes;
    case Kind::heartbeat:
    case Kind::bye:
      return 1024;
    case Kind::use:
    case Kind::echo:
    case Kind::ack:
      return 0;
  }
  throw MalformedMessage("there is no frame of kind " + std::to_string(static_cast<int>(kind)));
}

}  // namespace

std::string coded(const Header& header) {
  return Writer()
      .number(static_cast<std::uint8_t>(header.kind))
      .number(header.flags)
      .number(std::uint16_t{0})
      .number(header.length)
      .number(header.number)
      .take();
}

std::string frame(Kind kind, std::uint64_t number, std::string_view text, std::uint8_t flags) {
  return coded(Header{kind, flags, static_cast<std::uint32_t>(text.size()), number}) + std::string(text);
}

Header read_header(std::span<const char, kHeaderBytes> bytes) {
  Reader reader(std::string_view(bytes.data(), bytes.size()));
  Header header;
  header.kind = static_cast<Kind>(reader.number<std::uint8_t>());
  header.flags = reader.number<std::uint8_t>();
  if (reader.number<std::uint16_t>() != 0) throw MalformedMessage("a frame begins with something else");
  header.length = reader.number<std::uint32_t>();
  header.number = reader.number<std::uint64_t>();
  if (header.length > longest(header.kind))
    throw MalformedMessage("a frame of " + std::to_string(header.length) + " bytes is too long for its kind");
  return header;
}

std::string coded(const DataHead& head) {
  return Writer()
      .number(head.view)
      .number(head.tag)
      .number(head.total)
      .number(head.from)
      .number(head.to)
      .take();
}

DataHead read_data_head(std::string_view bytes) {
  Reader reader(bytes);
  DataHead head;
  head.view = reader.number<std::uint64_t>();
  head.tag = reader.number<std::uint64_t>();
  head.total = reader.number<std::uint64_t>();
  head.from = reader.number<std::uint32_t>();
  head.to = reader.number<std::uint32_t>();
  if (head.total > kLongestMessage) throw MalformedMessage("a message is said to have too many bytes");
  return head;
}

std::string coded(const Hello& hello) {
  Writer writer;
  writer.number(kProtocol).bytes(hello.run.bytes).number(hello.incarnation).number(hello.nodes);
  writer.text(hello.name.substr(0, kLongestName)).number(static_cast<std::uint8_t>(hello.relays ? 1 : 0));
  const std::size_t addresses = std::min(hello.addresses.size(), kMostAddresses);
  writer.number(static_cast<std::uint32_t>(addresses));
  for (std::size_t i = 0; i < addresses; ++i) writer.text(hello.addresses[i].substr(0, kLongestName));
  for (const auto* list : {&hello.warrants, &hello.revocations}) {
    const std::size_t count = std::min(list->size(), kMostCertificates);
    writer.number(static_cast<std::uint32_t>(count));
    for (std::size_t i = 0; i < count; ++i) writer.text((*list)[i]);
  }
  return writer.take();
}

Hello read_hello(std::string_view bytes) {
  Reader reader(bytes);
  if (const auto protocol = reader.number<std::uint16_t>(); protocol != kProtocol)
    throw MalformedMessage("it speaks version " + std::to_string(protocol) +
                           " of the protocol, this member version " + std::to_string(kProtocol));
  Hello hello;
  hello.run.bytes = reader.bytes<32>();
  hello.incarnation = reader.number<std::uint64_t>();
  hello.nodes = reader.number<std::uint32_t>();
  hello.name = reader.text(kLongestName);
  hello.relays = reader.flag();
  hello.addresses.resize(reader.count(kMostAddresses, 4));
  for (std::string& address : hello.addresses) address = reader.text(kLongestName);
  for (auto* list : {&hello.warrants, &hello.revocations}) {
    list->resize(reader.count(kMostCertificates, 4));
    for (std::string& each : *list) each = reader.text(kLongestCertificate);
  }
  reader.end();
  return hello;
}

std::string coded_request(Service service, std::string_view text) {
  return Writer().number(static_cast<std::uint8_t>(service)).raw(text).take();
}

Service read_service(std::string_view bytes) {
  const auto service = static_cast<Service>(Reader(bytes).number<std::uint8_t>());
  if (service < Service::join || service > Service::relayed) throw MalformedMessage("unknown request");
  return service;
}

}  // namespace veche::grid
