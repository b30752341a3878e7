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

// What members write to each other: frames, each a header and so many bytes. See docs/grid-protocol.md.
enum class Kind : std::uint8_t {
  hello = 1,  // who I am: the first frame of both
  use,        // this connection is the link of the two; number: the first data frame that I have not got
  heartbeat,  // number: my clock, to be sent back; a text for all who watch
  echo,       // number: the clock of a heartbeat
  ack,        // number: the first data frame that I have not got
  data,       // the beginning of a message between nodes; number: it counts them
  more,       // the bytes of the message that follow
  word,       // of the agreement on views
  request,    // number: for the answer
  answer,     // number: of the request
  bye,        // why I close
};

struct Header {
  Kind kind = Kind::bye;
  std::uint8_t flags = 0;
  std::uint32_t length = 0;  // of what follows
  std::uint64_t number = 0;
};
inline constexpr std::size_t kHeaderBytes = 16;
std::string coded(const Header& header);
// A whole frame of so many bytes.
std::string frame(Kind kind, std::uint64_t number, std::string_view text = {}, std::uint8_t flags = 0);
// Throws MalformedMessage for what no member sends: an unknown kind, a length beyond what the kind may have.
Header read_header(std::span<const char, kHeaderBytes> bytes);

inline constexpr std::uint32_t kPieceBytes = 1U << 20;   // of a message, at a time
inline constexpr std::uint32_t kLongestText = 4U << 20;  // hello, words, requests
inline constexpr std::uint32_t kLongestFromStranger = 4096;
inline constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 36;

// Flags.
inline constexpr std::uint8_t kNodeEnded = 1;     // data: no message, the node has ended
inline constexpr std::uint8_t kAnswerAtOnce = 2;  // data: nothing, to be acknowledged at once
inline constexpr std::uint8_t kNothing = 1;       // answer: there is none

// What stands before the bytes of a message.
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
  bool relays = false;  // it joins others that cannot reach each other
};
std::string coded(const Hello& hello);
Hello read_hello(std::string_view bytes);  // throws MalformedMessage

// Of a request. Who has no certificate may ask for `join` alone.
enum class Service : std::uint8_t {
  join = 1,
  piece,
  renew,
  console,
  own,
  introduce,   // tell that one to dial me
  introduced,  // dial this one
  relay,       // join me with that one
  relayed,     // dial me, to be joined with this one
};
std::string coded_request(Service service, std::string_view text);
Service read_service(
    std::string_view bytes);  // throws MalformedMessage; the text is what follows the first byte

}  // namespace veche::grid
