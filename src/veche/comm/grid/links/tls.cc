#include "veche/comm/grid/links/tls.h"

#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

// A loss is noticed within seconds, while a healthy but full link survives: see
// docs/grid-protocol.md.
constexpr int kKeepIdle = 2, kKeepInterval = 1, kKeepCount = 1, kUserTimeout = 3000;
// Unsent bytes in the kernel, limited so that urgent frames do not wait behind megabytes.
constexpr int kUnsent = 256 * 1024;
constexpr std::size_t kReadAhead = 128 * 1024;
// After this many bytes other connections get a turn.
constexpr std::uint64_t kTurn = 512 * 1024;

void set(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

std::shared_ptr<SSL_CTX> make_context(const KeyPair& key, const std::string& certificate,
                                      const std::vector<std::string>& proofs) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), OpensslFree());
  if (!context) openssl_failed("TLS");
  SSL_CTX* const it = context.get();
  SSL_CTX_set_min_proto_version(it, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(it, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_num_tickets(it, 0);
  SSL_CTX_set_session_cache_mode(it, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(it, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(it, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(it, 1);
  SSL_CTX_set_default_read_buffer_len(it, kReadAhead);
  SSL_CTX_set_max_cert_list(it, 128 * 1024);  // the longest chain
  const auto own = read_certificate(certificate);
  if (!own || SSL_CTX_use_certificate(it, own.get()) != 1 || SSL_CTX_use_PrivateKey(it, key.get()) != 1)
    openssl_failed("the member's certificate");
  for (const std::string& proof : proofs)
    if (const auto read = read_certificate(proof)) SSL_CTX_add1_chain_cert(it, read.get());
  return context;
}

void block_broken_pipes() {
  sigset_t pipes;
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipes, nullptr);
}

void prepare(asio::ip::tcp::socket& socket) {
  const int fd = socket.native_handle();
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeout);
  set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsent);
}

TlsStream::TlsStream(asio::ip::tcp::socket socket, std::shared_ptr<SSL_CTX> context, Verify verify)
    : socket_(std::move(socket)), context_(std::move(context)), verify_(std::move(verify)) {}

int TlsStream::verify(X509_STORE_CTX* context, void* /*unused*/) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  X509* const certificate = X509_STORE_CTX_get0_cert(context);
  std::optional<std::string> why;
  try {
    why = certificate == nullptr ? "it shows no certificate"
                                 : stream->verify_(certificate, X509_STORE_CTX_get0_untrusted(context));
  } catch (const std::exception& error) {  // no exception may pass through OpenSSL
    why = error.what();
  }
  if (!why) return 1;
  stream->refusal_ = *why;
  X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

asio::awaitable<void> TlsStream::handshake(bool as_server) {
  socket_.native_non_blocking(true);
  prepare(socket_);
  SSL_CTX_set_cert_verify_callback(context_.get(), &TlsStream::verify, nullptr);
  ssl_.reset(SSL_new(context_.get()));
  SSL* const ssl = ssl_.get();
  SSL_set_app_data(ssl, this);
  SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_set_fd(ssl, socket_.native_handle());
  if (as_server)
    SSL_set_accept_state(ssl);
  else
    SSL_set_connect_state(ssl);
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl);
    if (result == 1) break;
    co_await wait(result, "the handshake failed");
  }
  peer_.reset(SSL_get1_peer_certificate(ssl));
  if (!peer_) throw MalformedMessage("it shows no certificate");
}

asio::awaitable<void> TlsStream::wait(int result, const char* what) {
  in_a_row_ = 0;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      co_await socket_.async_wait(asio::ip::tcp::socket::wait_read, asio::use_awaitable);
      co_return;
    case SSL_ERROR_WANT_WRITE:
      co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, asio::use_awaitable);
      co_return;
    case SSL_ERROR_ZERO_RETURN:
      throw MalformedMessage("the connection was closed");
    case SSL_ERROR_SYSCALL: {
      const int error = errno;
      if (error != 0) throw MalformedMessage(std::error_code(error, std::system_category()).message());
      throw MalformedMessage("the connection was closed");
    }
    default:
      if (!refusal_.empty()) throw MalformedMessage("its certificate is refused: " + refusal_);
      throw MalformedMessage(std::string(what) + ": " + openssl_words());
  }
}

asio::awaitable<void> TlsStream::read(std::span<char> all) {
  while (!all.empty()) {
    std::size_t count = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), all.data(), all.size(), &count);
    if (result != 1) {
      co_await wait(result, "reading failed");
      continue;
    }
    last_read_ = Clock::now();
    read_ += count;
    in_a_row_ += count;
    all = all.subspan(count);
    if (in_a_row_ > kTurn) {
      in_a_row_ = 0;
      co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    }
  }
}

asio::awaitable<void> TlsStream::write(std::span<const char> all) {
  while (!all.empty()) {
    std::size_t count = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), all.data(), all.size(), &count);
    if (result == 1) {
      write_waits_.reset();
      written_ += count;
      all = all.subspan(count);
      continue;
    }
    if (!write_waits_) write_waits_ = Clock::now();
    co_await wait(result, "writing failed");
  }
}

void TlsStream::close() {
  std::error_code ignored;
  if (ssl_ && socket_.is_open()) {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get()) != 0) SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  socket_.close(ignored);
}

std::string TlsStream::session() const {
  std::string secret(32, '\0');
  constexpr std::string_view label = "EXPORTER-veche-join";
  if (SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(secret.data()), secret.size(),
                                 label.data(), label.size(), nullptr, 0, 0) != 1)
    openssl_failed("TLS");
  return secret;
}

}  // namespace veche::grid
