#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <future>
#include <random>
#include <thread>

#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr std::chrono::seconds kToConnect{3};  // an unreachable host often sends no refusal

constexpr std::chrono::milliseconds kPause{100}, kLongestPause{500};

struct Outcome {
  bool connected = false;
  bool is_busy = false;  // it accepts no more connections now, or does not answer in time
  std::optional<Message> answer;
  std::string why = "it did not answer in time";
};

asio::awaitable<void> ask_at(TlsStream& stream, const OneQuestion& question, const std::string& address,
                             Outcome& outcome) {
  try {
    const Address parts = parse_address(address);
    asio::ip::tcp::resolver resolver(stream.socket().get_executor());
    const std::string port = std::to_string(parts.port);
    const auto found = co_await resolver.async_resolve(parts.host, port, asio::use_awaitable);
    co_await asio::async_connect(stream.socket(), found, asio::use_awaitable);
    outcome.connected = true;
    co_await stream.handshake(false);
    const std::string text =
        coded_request(question.service, question.make(stream.session(), id_of(stream.peer())));
    const std::string frame =
        coded(Header{Kind::request, 0, static_cast<std::uint32_t>(text.size()), 1}) + text;
    co_await stream.write(frame);
    std::array<char, kHeaderBytes> bytes{};
    co_await stream.read(bytes);
    const Header header = read_header(bytes);
    if (header.kind != Kind::answer || (header.flags & kNothing) != 0)
      throw MalformedMessage("it does not answer");
    MessagePool pool;
    Message message = pool.make(header.length);
    co_await stream.read(message.writable<char>());
    outcome.answer = std::move(message);
  } catch (const std::exception& error) {
    outcome.why = error.what();
    outcome.is_busy = outcome.connected && !stream.has_heard();
  }
  stream.close();
}

Outcome ask_there(const OneQuestion& question, const std::string& address) {
  Outcome outcome;
  asio::io_context context(1);
  TlsStream stream(asio::ip::tcp::socket(context), question.context, question.verify);
  asio::co_spawn(context, ask_at(stream, question, address, outcome), asio::detached);
  context.run_for(kToConnect);
  if (outcome.connected)
    context.run_for(std::chrono::duration_cast<std::chrono::nanoseconds>(question.limit));
  outcome.is_busy = outcome.is_busy || (outcome.connected && !context.stopped());
  stream.close();
  return outcome;
}

// Runs on its own thread, where SIGPIPE is blocked.
Message ask_in_turn(const OneQuestion& question) {
  block_broken_pipes();
  std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<int> pause(kPause.count(), kLongestPause.count());
  std::string last = "it has no address";
  const auto began = std::chrono::steady_clock::now();
  for (bool again = true; again;) {
    bool busy = false;
    for (const std::string& address : question.addresses) {
      const Outcome outcome = ask_there(question, address);
      if (outcome.answer) return *outcome.answer;
      busy = busy || outcome.is_busy;
      last = address + ": " + outcome.why;
    }
    again = busy && std::chrono::steady_clock::now() - began < question.while_busy;
    if (again) std::this_thread::sleep_for(std::chrono::milliseconds(pause(random)));
  }
  throw RequestError("no member answers; the last that was asked, " + last);
}

}  // namespace

Message ask_once(const OneQuestion& question) {
  return std::async(std::launch::async, ask_in_turn, question).get();
}

}  // namespace veche::grid
