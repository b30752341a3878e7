#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "veche/comm/grid/links/connection.h"
#include "veche/comm/grid/links/link_table.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::size_t kRecord = 16 * 1024;  // maximum TLS record

}  // namespace

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
        if (last) throw MalformedMessage(bye_);
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

// Sends the next chunk of the current message; a small one shares a record with its header.
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

}  // namespace veche::grid
