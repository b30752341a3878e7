#include "veche/comm/grid/links/connection.h"

#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cstring>

#include "veche/comm/grid/coding.h"
#include "veche/comm/grid/links/address.h"

namespace veche::grid {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::uint64_t kAcknowledgeEvery = 1U << 20;
constexpr std::size_t kRecord = 16 * 1024;  // of TLS, at most

std::string frame(Kind kind, std::uint64_t number, std::string_view text = {}, std::uint8_t flags = 0) {
  return coded(Header{kind, flags, static_cast<std::uint32_t>(text.size()), number}) + std::string(text);
}

std::uint64_t clock_now() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

Connection::Connection(ConnectionOwner& owner, asio::ip::tcp::socket socket, std::shared_ptr<SSL_CTX> context,
                       Verify verify, std::optional<MemberId> dials)
    : owner_(owner),
      stream_(std::move(socket), std::move(context), std::move(verify)),
      wake_(stream_.socket().get_executor()),
      ticks_(stream_.socket().get_executor()),
      dials_(dials) {}

void Connection::start(const std::string& address) {
  const auto executor = stream_.socket().get_executor();
  const auto self = shared_from_this();
  asio::co_spawn(
      executor, [self, address] { return self->live(address); }, asio::detached);
  asio::co_spawn(
      executor, [self] { return self->watch(); }, asio::detached);
}

void Connection::close(const std::string& why) {
  if (closed_) return;
  closed_ = true;
  stream_.close();
  wake_.cancel();
  ticks_.cancel();
  owner_.closed(shared_from_this(), why);
}

void Connection::say_bye(const std::string& why) {
  if (closed_) return;
  if (!is_link()) return close(why);
  bye_ = why;
  outbox_->put(frame(Kind::bye, 0, std::string_view(why).substr(0, 1000)));
}

asio::awaitable<void> Connection::live(std::string address) {
  const auto self = shared_from_this();
  std::string why = "the connection was closed";
  try {
    if (dialled()) co_await connect(address);
    std::error_code ignored;
    const auto remote = stream_.socket().remote_endpoint(ignored);
    address_ = remote.address().to_string() + ":" + std::to_string(remote.port());
    co_await stream_.handshake(!dialled());
    peer_ = id_of(stream_.peer());
    if (!dialled() && (peer_ == owner_.me() || is_newcomer(stream_.peer()))) {
      co_await answer_one();
    } else {
      const bool adopted = co_await greet();
      if (adopted) {
        asio::co_spawn(
            stream_.socket().get_executor(), [self] { return self->write_frames(); }, asio::detached);
        co_await read_frames();
      }
    }
  } catch (const std::system_error& error) {
    refused_ = error.code() == asio::error::connection_refused;
    why = error.code().message();
  } catch (const std::exception& error) {
    why = error.what();
  }
  close(why);
}

asio::awaitable<void> Connection::connect(const std::string& address) {
  const Address parts = parse_address(address);
  if (parts.number) {
    const asio::ip::tcp::endpoint endpoint(*parts.number, parts.port);
    co_await stream_.socket().async_connect(endpoint, asio::use_awaitable);
    co_return;
  }
  asio::ip::tcp::resolver resolver(stream_.socket().get_executor());
  const std::string port = std::to_string(parts.port);
  const auto found = co_await resolver.async_resolve(parts.host, port, asio::use_awaitable);
  if (closed_) throw Damaged("too late");
  co_await asio::async_connect(stream_.socket(), found, asio::use_awaitable);
}

asio::awaitable<Header> Connection::next_header() {
  std::array<char, kHeaderBytes> bytes{};
  co_await stream_.read(bytes);
  co_return read_header(bytes);
}

asio::awaitable<std::string> Connection::read_text(std::uint32_t length) {
  // Memory for what has come, not for what was promised.
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

asio::awaitable<void> Connection::answer_one() {
  const bool newcomer = peer_ != owner_.me() || is_newcomer(stream_.peer());
  const Header header = co_await next_header();
  if (header.kind != Kind::request || header.length > kLongestFromStranger)
    throw Damaged("it is no member and does not ask to be one");
  const std::string text = co_await read_text(header.length);
  const Service service = read_service(text);
  if (service != (newcomer ? Service::join : Service::console))
    throw Damaged("it asks for what is not for it");
  Asker asker{peer_, newcomer, stream_.session(), {}};
  std::size_t length = asker.key.size();
  EVP_PKEY_get_raw_public_key(X509_get0_pubkey(stream_.peer()), asker.key.data(), &length);
  struct Waiting {
    std::optional<Message> answer;
    bool done = false;
  };
  const auto waiting = std::make_shared<Waiting>();
  const auto executor = stream_.socket().get_executor();
  const std::weak_ptr<Connection> weak = shared_from_this();
  owner_.events().request(asker, service, text.substr(1), [=](std::optional<Message> answer) {
    asio::post(executor, [=, answer = std::move(answer)] {
      waiting->answer = answer;
      waiting->done = true;
      if (const auto self = weak.lock()) self->wake_.cancel();
    });
  });
  while (!waiting->done && !closed_) {
    std::error_code woken;
    wake_.expires_after(std::chrono::seconds(1));
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (!waiting->answer) throw Damaged("it got no answer");
  const auto bytes = waiting->answer->bytes();
  const std::string all = frame(Kind::answer, header.number,
                                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  co_await stream_.write(all);
  // Who asked closes when it has read it.
  std::array<char, 1> end{};
  co_await stream_.read(end);
}

asio::awaitable<bool> Connection::greet() {
  const std::string mine = frame(Kind::hello, 0, owner_.hello());
  co_await stream_.write(mine);
  const Header header = co_await next_header();
  if (header.kind != Kind::hello) throw Damaged("it does not greet");
  const std::string theirs = co_await read_text(header.length);
  const Hello hello = read_hello(theirs);
  if (!owner_.greeted(*this, hello)) {
    const std::string bye = frame(Kind::bye, 0, "there is a link already");
    co_await stream_.write(bye);
    throw Damaged("there is a link already");
  }
  // Who has the lower id decides: it says so first.
  const std::string use = frame(Kind::use, owner_.expected(peer_, hello.incarnation));
  const bool first = owner_.me() < peer_;
  if (first) co_await stream_.write(use);
  const Header agreed = co_await next_header();
  const std::string words = co_await read_text(agreed.length);
  if (agreed.kind == Kind::bye) throw Damaged(words);
  if (agreed.kind != Kind::use) throw Damaged("it does not say whether this is the link");
  if (!first) co_await stream_.write(use);
  outbox_ = owner_.adopt(shared_from_this(), hello, agreed.number);
  co_return outbox_ != nullptr;
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
      // Not more and more of them for one who does not read.
      if (!stream_.write_waits()) outbox_->put(frame(Kind::echo, header.number));
      owner_.events().heartbeat(peer_, text);
      return;
    case Kind::echo:
      round_trip_ = std::chrono::nanoseconds(clock_now() - header.number);
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
        throw Damaged("it asks for what is not for it");
      Asker asker{peer_, false, {}, {}};
      std::size_t length = asker.key.size();
      EVP_PKEY_get_raw_public_key(X509_get0_pubkey(stream_.peer()), asker.key.data(), &length);
      owner_.events().request(
          asker, service, text.substr(1),
          [outbox = outbox_, number = header.number](std::optional<Message> answer) {
            if (!answer || answer->size() > kLongestText)
              return outbox->put(frame(Kind::answer, number, {}, kNothing));
            const auto length = static_cast<std::uint32_t>(answer->size());
            outbox->put(Outbox::Piece{coded(Header{Kind::answer, 0, length, number}), std::move(*answer)});
          });
      return;
    }
    case Kind::bye:
      throw Damaged(text.empty() ? "it has closed the link" : text);
    default:
      throw Damaged("it sends frames where they do not belong");
  }
}

asio::awaitable<void> Connection::read_data(Header header) {
  if (header.kind == Kind::data) {
    if (arriving_ || header.length < kDataHeadBytes) throw Damaged("it sends a message inside another");
    std::array<char, kDataHeadBytes> head{};
    co_await stream_.read(head);
    Arriving arriving{header, read_data_head(std::string_view(head.data(), head.size())), {}, 0};
    header.length -= kDataHeadBytes;
    if ((header.flags & (kNodeEnded | kAnswerAtOnce)) != 0) {
      if (header.length != 0 || arriving.head.total != 0) throw Damaged("it sends bytes with what has none");
    } else {
      arriving.message = owner_.pool().make(arriving.head.total);
    }
    arriving_ = std::move(arriving);
  }
  if (!arriving_) throw Damaged("it sends more of what it has not begun");
  const std::uint64_t rest = arriving_->head.total - arriving_->have;
  if (header.length > rest || (header.length == 0 && rest > 0)) throw Damaged("it sends more than it said");
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

asio::awaitable<void> Connection::write_frames() {
  const auto self = shared_from_this();
  std::string why;
  try {
    const std::uint64_t window = owner_.options().window;
    while (!closed_) {
      const std::string small = outbox_->take_small();
      if (!small.empty()) {
        const bool last = !bye_.empty();
        co_await stream_.write(small);
        if (last) throw Damaged(bye_);
        continue;
      }
      if (!sending_) {
        sending_ = outbox_->take_message(window);
        sent_ = 0;
      }
      if (sending_) {
        co_await write_piece();
        continue;
      }
      if (const auto piece = outbox_->take_piece()) {
        co_await stream_.write(piece->header);
        const auto bytes = piece->message.bytes();
        co_await stream_.write(std::span(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        continue;
      }
      if (!outbox_->sleep(window)) continue;
      std::error_code woken;
      wake_.expires_at(asio::steady_timer::time_point::max());
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    co_return;
  } catch (const std::exception& error) {
    why = error.what();
  }
  close(why);
}

// The next piece of the message that is being sent: what is small goes in one record with its header.
asio::awaitable<void> Connection::write_piece() {
  const Outbox::Item& item = *sending_;
  const auto bytes = item.message.bytes();
  const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPieceBytes, bytes.size() - sent_));
  const bool first = sent_ == 0;
  std::string record = first
                           ? coded(Header{Kind::data, item.flags,
                                          length + static_cast<std::uint32_t>(kDataHeadBytes), item.number}) +
                                 coded(item.head)
                           : coded(Header{Kind::more, 0, length, 0});
  const char* from = reinterpret_cast<const char*>(bytes.data()) + sent_;
  const std::size_t with_header = std::min<std::size_t>(length, kRecord - record.size());
  record.append(from, with_header);
  co_await stream_.write(record);
  co_await stream_.write(std::span(from + with_header, length - with_header));
  sent_ += length;
  if (sent_ == bytes.size()) sending_.reset();
}

asio::awaitable<void> Connection::watch() {
  const auto self = shared_from_this();
  while (!closed_) {
    std::error_code woken;
    ticks_.expires_after(kTick);
    co_await ticks_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (closed_) co_return;
    const auto now = Clock::now();
    if (is_link())
      check_link(now);
    else if (now > made_ + std::chrono::duration_cast<Clock::duration>(owner_.options().greeting))
      close("it did not greet in time");
  }
}

void Connection::check_link(Clock::time_point now) {
  const LinkOptions& options = owner_.options();
  // Who was stopped itself hears nobody: what has come meanwhile is read first.
  if (now - last_tick_ > std::chrono::seconds(1)) excused_until_ = now + std::chrono::seconds(1);
  last_tick_ = now;
  if (const auto read = stream_.last_read(); read != last_seen_read_) {
    if (last_seen_read_ != Clock::time_point{})
      longest_gap_ = std::max<Time>(longest_gap_ * 0.995, read - last_seen_read_);
    last_seen_read_ = read;
  }
  const Time silent = now - last_seen_read_;
  const Time limit = std::clamp<Time>(3 * longest_gap_, options.silence, 3 * options.silence);
  const auto waits = stream_.write_waits();
  if (now > excused_until_) {
    if (silent > limit)
      return close("it was silent for " + std::to_string(static_cast<int>(silent.count())) + " s");
    if (waits && now - *waits > options.stall)
      return close("it has read nothing for " + std::to_string(static_cast<int>(options.stall.count())) +
                   " s");
  }
  if (owes_acknowledgement_) {
    owes_acknowledgement_ = false;
    not_acknowledged_ = 0;
    outbox_->put(frame(Kind::ack, owner_.expected(peer_, 0)));
  }
  if (now - last_heartbeat_ >= options.heartbeat) {
    last_heartbeat_ = now;
    if (!waits || now - *waits < options.heartbeat)
      outbox_->put(frame(Kind::heartbeat, clock_now(), owner_.heartbeat()));
  }
  owner_.measured(*this, round_trip_, silent);
}

}  // namespace veche::grid
