#include <asio/use_awaitable.hpp>

#include "veche/comm/grid/links/connection.h"
#include "veche/comm/grid/links/link_table.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::uint64_t kAcknowledgeEvery = 1U << 20;

}  // namespace

asio::awaitable<Header> Connection::next_header() {
  std::array<char, kHeaderBytes> bytes{};
  co_await stream_.read(bytes);
  co_return read_header(bytes);
}

asio::awaitable<std::string> Connection::read_text(std::uint32_t length) {
  // Allocates for received data, not for announced lengths.
  constexpr std::uint32_t kStep = 64 * 1024;
  std::string text;
  for (std::uint32_t have = 0; have < length;) {
    const std::uint32_t more = std::min(kStep, length - have);
    text.resize(have + more);
    co_await stream_.read(std::span(text.data() + have, more));
    have += more;
  }
  co_return text;
}

asio::awaitable<void> Connection::read_frames() {
  for (;;) {
    const Header header = co_await next_header();
    if (header.kind == Kind::data || header.kind == Kind::more) {
      co_await read_data(header);
    } else if (header.kind == Kind::answer && (header.flags & kNothing) == 0) {
      Message message = owner_.pool().make(header.length);
      co_await stream_.read(message.writable<char>());
      owner_.answered(peer_, header.number, std::move(message));
    } else {
      std::string text = co_await read_text(header.length);
      handle_text(header, std::move(text));
    }
    if (closed_) co_return;
  }
}

void Connection::handle_text(const Header& header, std::string text) {
  switch (header.kind) {
    case Kind::heartbeat:
      // Does not accumulate echoes for a peer that does not read.
      if (!stream_.write_waits()) outbox_->put(frame(Kind::echo, header.number));
      owner_.events().heartbeat(peer_, text);
      return;
    case Kind::echo:
      round_trip_ = std::chrono::nanoseconds(ticks_now() - header.number);
      return;
    case Kind::ack:
      outbox_->acknowledged(header.number);
      return;
    case Kind::word:
      owner_.events().word(peer_, std::move(text));
      return;
    case Kind::answer:
      owner_.answered(peer_, header.number, {});
      return;
    case Kind::request: {
      const Service service = read_service(text);
      if (service == Service::join || service == Service::console)
        throw MalformedMessage("it sent a request that it may not send");
      const auto reply = [outbox = outbox_, number = header.number](std::optional<Message> answer) {
        if (!answer || answer->size() > kLongestText)
          return outbox->put(frame(Kind::answer, number, {}, kNothing));
        const auto length = static_cast<std::uint32_t>(answer->size());
        outbox->put(Outbox::Piece{coded(Header{Kind::answer, 0, length, number}), std::move(*answer)});
      };
      if (owner_.reaches(peer_, service, text.substr(1), reply)) return;
      Requester requester{peer_, false, {}, {}};
      std::size_t length = requester.key.size();
      EVP_PKEY_get_raw_public_key(X509_get0_pubkey(stream_.peer()), requester.key.data(), &length);
      owner_.events().request(requester, service, text.substr(1), reply);
      return;
    }
    case Kind::bye:
      throw MalformedMessage(text.empty() ? "it has closed the link" : text);
    default:
      throw MalformedMessage("it sent a frame that does not belong here");
  }
}

asio::awaitable<void> Connection::read_data(Header header) {
  if (header.kind == Kind::data) {
    if (arriving_ || header.length < kDataHeadBytes)
      throw MalformedMessage("a message starts inside another");
    std::array<char, kDataHeadBytes> head{};
    co_await stream_.read(head);
    Arriving arriving{header, read_data_head(std::string_view(head.data(), head.size())), {}, 0};
    header.length -= kDataHeadBytes;
    if ((header.flags & (kNodeEnded | kAnswerAtOnce)) != 0) {
      if (header.length != 0 || arriving.head.total != 0)
        throw MalformedMessage("payload in a frame that must be empty");
    } else {
      arriving.message = owner_.pool().make(arriving.head.total);
    }
    arriving_ = std::move(arriving);
  }
  if (!arriving_) throw MalformedMessage("a continuation without a message");
  const std::uint64_t rest = arriving_->head.total - arriving_->have;
  if (header.length > rest || (header.length == 0 && rest > 0))
    throw MalformedMessage("a message is longer than announced");
  co_await stream_.read(arriving_->message.writable<char>().subspan(arriving_->have, header.length));
  arriving_->have += header.length;
  not_acknowledged_ += header.length;
  if (arriving_->have < arriving_->head.total) co_return;
  const Arriving whole = std::move(*arriving_);
  arriving_.reset();
  owes_acknowledgement_ = true;
  if (owner_.arrived(peer_, whole.header.number) && (whole.header.flags & kAnswerAtOnce) == 0)
    owner_.events().data(peer_, whole.head, (whole.header.flags & kNodeEnded) != 0, whole.message);
  if (not_acknowledged_ < kAcknowledgeEvery && (whole.header.flags & kAnswerAtOnce) == 0) co_return;
  not_acknowledged_ = 0;
  owes_acknowledgement_ = false;
  outbox_->put(frame(Kind::ack, whole.header.number + 1));
}

}  // namespace veche::grid
