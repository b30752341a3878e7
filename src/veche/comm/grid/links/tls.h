#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/trust.h"

namespace veche::grid {

// Called during a handshake with the peer's certificates. Returns the reason for a refusal, or
// nullopt to continue.
using Verify = std::function<std::optional<std::string>(X509* certificate, STACK_OF(X509) * shown)>;

// A TLS 1.3 context with a key, its certificate and the chain. No session tickets: a resumed
// session would skip the check for revocation.
std::shared_ptr<SSL_CTX> make_context(const KeyPair& key, const std::string& certificate,
                                      const std::vector<std::string>& proofs);

// Blocks SIGPIPE for the calling thread: OpenSSL writes to sockets whose peer is gone, which must
// not end the process.
void block_broken_pipes();

// Sets socket options: a lost peer is noticed within seconds, and urgent frames do not wait in the
// kernel.
void prepare(asio::ip::tcp::socket& socket);

// TLS on a non-blocking socket. One thread; one reader and one writer at a time. Failures throw
// std::system_error or MalformedMessage.
class TlsStream {
 public:
  using Clock = std::chrono::steady_clock;

  TlsStream(asio::ip::tcp::socket socket, std::shared_ptr<SSL_CTX> context, Verify verify);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  asio::ip::tcp::socket& socket() { return socket_; }
  // Before the handshake: hands the socket to another owner.
  asio::ip::tcp::socket release() { return std::move(socket_); }
  // After the socket is connected.
  asio::awaitable<void> handshake(bool as_server);
  asio::awaitable<void> read(std::span<char> all);
  asio::awaitable<void> write(std::span<const char> all);
  void close();

  X509* peer() const { return peer_.get(); }
  // A secret shared by both ends of this connection only.
  std::string session() const;

  std::uint64_t bytes_read() const { return read_; }
  std::uint64_t bytes_written() const { return written_; }
  // Whether any byte was received, including the handshake.
  bool has_heard() const { return ssl_ && BIO_number_read(SSL_get_rbio(ssl_.get())) > 0; }
  Clock::time_point last_read() const { return last_read_; }
  // Since when a write waits for the peer to read; nullopt: no write waits.
  std::optional<Clock::time_point> write_waits() const { return write_waits_; }

 private:
  static int verify(X509_STORE_CTX* context, void* unused);
  asio::awaitable<void> wait(int result, const char* what);

  asio::ip::tcp::socket socket_;
  const std::shared_ptr<SSL_CTX> context_;
  const Verify verify_;
  Openssl<SSL> ssl_;
  Openssl<X509> peer_;
  std::string refusal_;  // why this side ended the handshake
  std::uint64_t read_ = 0, written_ = 0;
  std::uint64_t in_a_row_ = 0;  // bytes read without waiting
  Clock::time_point last_read_ = Clock::now();
  std::optional<Clock::time_point> write_waits_;
};

}  // namespace veche::grid
