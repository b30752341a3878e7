#include "veche/comm/grid/discovery/lan.h"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/multicast.hpp>
#include <asio/ip/udp.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "veche/comm/grid/discovery/lan_messages.h"
#include "veche/comm/grid/discovery/topic.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

using asio::ip::udp;

const asio::ip::address_v4 kGroup({239, 255, 86, 69});
constexpr std::uint16_t kLanPort = 23169;
constexpr std::size_t kMostNetworks = 16;
constexpr int kAnswersASecond = 20;

// The host's own addresses in networks where other machines could hear it.
std::vector<asio::ip::address_v4> networks_of(const Address& listen) {
  std::vector<asio::ip::address_v4> networks;
  if (!listen.number || !listen.number->is_v4()) return networks;
  for (const std::string& own : own_addresses(*listen.number, listen.port)) {
    const auto number = parse_address(own).number;
    if (number && number->is_v4() && !number->is_loopback() && networks.size() < kMostNetworks)
      networks.push_back(number->to_v4());
  }
  return networks;
}

}  // namespace

class Lan::State {
 public:
  explicit State(const LanOptions& options)
      : found_(options.found), work_(context_.get_executor()), heard_(context_), own_(context_) {
    const Address listen = parse_address(options.listen);
    networks_ = networks_of(listen);
    word_.topic = topic_of(options.run, "lan");
    word_.port = listen.port;
    word_.sender = std::random_device{}() * std::uint64_t{0x100000001} ^ std::random_device{}();
    if (networks_.empty()) return;
    std::error_code ignored;
    own_.open(udp::v4(), ignored);
    own_.bind({udp::v4(), 0}, ignored);
    own_.set_option(asio::ip::multicast::hops(1), ignored);
    hear(own_, own_buffer_, own_from_);
    // Several members of one host share the port.
    std::error_code failed;
    heard_.open(udp::v4(), failed);
    heard_.set_option(udp::socket::reuse_address(true), failed);
    if (!failed) heard_.bind({kGroup, kLanPort}, failed);
    if (failed) return;
    for (const auto& network : networks_)
      heard_.set_option(asio::ip::multicast::join_group(kGroup, network), ignored);
    hear(heard_, heard_buffer_, heard_from_);
  }

  void start() {
    if (word_.port != 0) tell_all(LanMessage::Kind::here);
    thread_ = std::jthread([this] { context_.run(); });
  }
  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  bool has_networks() const { return !networks_.empty(); }
  void seek() {
    asio::post(context_, [this] { tell_all(LanMessage::Kind::seek); });
  }

 private:
  using Buffer = std::array<char, 128>;

  void tell_all(LanMessage::Kind kind) {
    word_.kind = kind;
    const std::string text = coded(word_);
    std::error_code ignored;
    for (const auto& network : networks_) {
      own_.set_option(asio::ip::multicast::outbound_interface(network), ignored);
      own_.send_to(asio::buffer(text), {kGroup, kLanPort}, 0, ignored);
    }
  }

  void hear(udp::socket& socket, Buffer& buffer, udp::endpoint& from) {
    socket.async_receive_from(asio::buffer(buffer), from, [&](std::error_code error, std::size_t count) {
      if (error == asio::error::operation_aborted) return;
      if (!error) take({buffer.data(), count}, from);
      hear(socket, buffer, from);
    });
  }

  void take(std::string_view text, const udp::endpoint& from) {
    LanMessage word;
    try {
      word = read_lan_word(text);
    } catch (const MalformedMessage&) {
      return;
    }
    if (word.topic != word_.topic || word.sender == word_.sender) return;
    if (word.kind == LanMessage::Kind::seek && word_.port != 0 && may_answer()) {
      word_.kind = LanMessage::Kind::here;
      std::error_code ignored;
      own_.send_to(asio::buffer(coded(word_)), from, 0, ignored);
    }
    if (word.port != 0) found_(from.address().to_string() + ":" + std::to_string(word.port));
  }

  bool may_answer() {
    const auto second =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch());
    if (std::exchange(this_second_, second) != second) answers_ = 0;
    return ++answers_ <= kAnswersASecond;
  }

  const std::function<void(const std::string&)> found_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<asio::ip::address_v4> networks_;
  LanMessage word_;
  udp::socket heard_, own_;
  Buffer heard_buffer_ = {}, own_buffer_ = {};
  udp::endpoint heard_from_, own_from_;
  std::chrono::seconds this_second_{0};
  int answers_ = 0;
  std::jthread thread_;  // declared last
};

Lan::Lan(const LanOptions& options) : state_(std::make_shared<State>(options)) { state_->start(); }
Lan::~Lan() { state_->stop(); }
bool Lan::has_networks() const { return state_->has_networks(); }
void Lan::seek() { state_->seek(); }

}  // namespace veche::grid
