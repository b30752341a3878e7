#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// The wire format between members: frames, each a header and a payload. See docs/grid-protocol.md.
enum class Kind : std::uint8_t {
  hello = 1,  // identity: the first frame of both sides
  use,        // this connection is the link; number: the first data frame not yet received
  heartbeat,  // number: sender's clock, to be echoed; text: status for watchers
  echo,       // number: the clock of a heartbeat
  ack,        // number: the first data frame not yet received
  data,       // start of a message between nodes; number: sequence number
  more,       // further bytes of the message
  word,       // membership protocol
  request,    // number: id for the answer
  answer,     // number: id of the request
  bye,        // reason for closing
};

struct Header {
  Kind kind = Kind::bye;
  std::uint8_t flags = 0;
  std::uint32_t length = 0;  // of the payload
  std::uint64_t number = 0;
};
inline constexpr std::size_t kHeaderBytes = 16;
std::string coded(const Header& header);
// A complete frame with this payload.
std::string frame(Kind kind, std::uint64_t number, std::string_view text = {}, std::uint8_t flags = 0);
// Throws MalformedMessage for an unknown kind or a length beyond the kind's limit.
Header read_header(std::span<const char, kHeaderBytes> bytes);

inline constexpr std::uint32_t kPieceBytes = 1U << 20;   // message bytes per frame
inline constexpr std::uint32_t kLongestText = 4U << 20;  // hello, words, requests
inline constexpr std::uint32_t kLongestFromStranger = 4096;
inline constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 36;

// Flags.
inline constexpr std::uint8_t kNodeEnded = 1;     // data: no message, the node has ended
inline constexpr std::uint8_t kAnswerAtOnce = 2;  // data: empty, to be acknowledged at once
inline constexpr std::uint8_t kNothing = 1;       // answer: there is none

// Precedes the bytes of a message.
struct DataHead {
  std::uint64_t view = 0;
  std::uint64_t tag = 0;
  std::uint64_t total = 0;  // bytes of the message
  std::uint32_t from = 0, to = 0;
};
inline constexpr std::size_t kDataHeadBytes = 32;
std::string coded(const DataHead& head);
DataHead read_data_head(std::string_view bytes);  // throws MalformedMessage

struct Hello {
  MemberId run;
  std::uint64_t incarnation = 0;
  std::uint32_t nodes = 1;
  std::string name;
  std::vector<std::string> addresses;
  std::vector<std::string> warrants;
  std::vector<std::string> revocations;
  bool relays = false;  // it relays for members that cannot reach each other
};
std::string coded(const Hello& hello);
Hello read_hello(std::string_view bytes);  // throws MalformedMessage

// The kind of a request. A newcomer without certificate may use only `join`.
enum class Service : std::uint8_t {
  join = 1,
  piece,
  renew,
  console,
  own,
  introduce,   // ask that member to dial me
  introduced,  // dial this member
  relay,       // join me with that member
  relayed,     // dial me, to be joined with this member
};
std::string coded_request(Service service, std::string_view text);
Service read_service(std::string_view bytes);  // throws MalformedMessage; the text follows the first byte

}  // namespace veche::grid
