#include "veche/comm/mpi/lifeline.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTimeout = std::chrono::seconds(5);  // for all ranks to connect; later ones are not watched
constexpr int kConnectMilliseconds = 2000;
constexpr int kPollMilliseconds = 100;  // between checks whether to stop
constexpr int kFrameSeconds = 10;       // for the rest of a frame
constexpr std::uint32_t kLongestReport = 1 << 16;

// Frame kinds, before the report of a failure.
enum FrameKind : std::int32_t { kGoodbye, kLost, kFailed };
struct Frame {
  std::int32_t kind = kGoodbye;
  std::int32_t rank = 0;
  std::uint64_t exchange = 0;
  std::uint32_t length = 0;
  std::uint32_t unused = 0;
};

struct Greeting {
  std::uint64_t word = 0;  // a secret, against strangers
  std::int32_t rank = 0;
  std::int32_t unused = 0;
};

int new_socket(int flags = 0) { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0); }

bool ready(int socket, short events, int milliseconds) {
  pollfd polled{socket, events, 0};
  return poll(&polled, 1, milliseconds) == 1 && (polled.revents & events) != 0;
}

bool read_all(int socket, void* into, std::size_t bytes) {
  return recv(socket, into, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

bool read_frame(int socket, Frame& frame, std::string& report) {
  if (!read_all(socket, &frame, sizeof frame) || frame.length > kLongestReport) return false;
  report.resize(frame.length);
  return report.empty() || read_all(socket, report.data(), report.size());
}

// Sets timeouts: a frame in progress is waited for, and a dead host is noticed without sending.
void make_patient(int socket, int seconds) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  const timeval timeout{seconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
}

int connected(const std::string& address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  const int socket = new_socket(SOCK_NONBLOCK);
  if (socket < 0 || inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return -1;
  const bool started = connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ||
                       (errno == EINPROGRESS && ready(socket, POLLOUT, kConnectMilliseconds));
  int error = 0;
  socklen_t length = sizeof error;
  if (started && getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) return socket;
  close(socket);
  return -1;
}

// This host's addresses, externally reachable ones first.
std::vector<std::string> addresses() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {"127.0.0.1"};
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
        (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr)
      found.emplace_back(text.data());
  }
  freeifaddrs(list);
  found.emplace_back("127.0.0.1");
  return found;
}

}  // namespace

std::string Lifeline::listen(int& socket) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  socket = new_socket();
  if (socket < 0 || bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      ::listen(socket, SOMAXCONN) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&any), &length) != 0)
    return {};
  std::random_device chance;
  std::ostringstream where;
  where << ((static_cast<std::uint64_t>(chance()) << 32) | chance()) << ' ' << ntohs(any.sin_port);
  for (const std::string& address : addresses()) where << ' ' << address;
  return where.str();
}

Lifeline::Lifeline(int rank, int ranks, int socket, const std::string& where, Calls calls)
    : calls_(std::move(calls)) {
  if (ranks == 1) {
    if (socket >= 0) close(socket);
    return;
  }
  if (!where.empty() && rank == 0) accept_all(socket, ranks, where.substr(0, where.find(' ')));
  if (!where.empty() && rank != 0) connect_to_first(rank, where);
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Lifeline::~Lifeline() {
  watcher_ = {};
  send_all(kGoodbye, {}, -1);
  for (const Line& line : lines_) close(line.socket);
}

void Lifeline::tell(const FailureReport& failure) { send_all(kFailed, failure, -1); }

void Lifeline::accept_all(int listener, int ranks, const std::string& word) {
  const auto until = Clock::now() + kTimeout;
  while (static_cast<int>(lines_.size()) + 1 < ranks && Clock::now() < until) {
    if (!ready(listener, POLLIN, kPollMilliseconds)) continue;
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    make_patient(socket, 1);
    Greeting greeting;
    if (read_all(socket, &greeting, sizeof greeting) && std::to_string(greeting.word) == word) {
      make_patient(socket, kFrameSeconds);
      lines_.push_back({greeting.rank, socket});
    } else {
      close(socket);
    }
  }
  close(listener);
}

void Lifeline::connect_to_first(int rank, const std::string& where) {
  std::istringstream words(where);
  Greeting greeting{0, rank, 0};
  std::uint16_t port = 0;
  words >> greeting.word >> port;
  for (std::string address; words >> address;) {
    const int socket = connected(address, port);
    if (socket < 0) continue;
    make_patient(socket, kFrameSeconds);
    send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL);
    lines_.push_back({0, socket});
    return;
  }
}

void Lifeline::send_all(std::int32_t kind, const FailureReport& failure, int except) {
  const std::string report = failure.report.substr(0, kLongestReport);
  const Frame frame{kind, failure.rank, failure.exchange, static_cast<std::uint32_t>(report.size()), 0};
  std::string bytes(sizeof frame, '\0');
  std::memcpy(bytes.data(), &frame, sizeof frame);
  bytes += report;
  const MutexLock lock(sending_);
  for (const Line& line : lines_)
    if (line.rank != except) send(line.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void Lifeline::watch(const std::stop_token& stop) {
  std::vector<pollfd> polled;
  for (const Line& line : lines_) polled.push_back({line.socket, POLLIN, 0});
  while (!stop.stop_requested()) {
    calls_.heartbeat();
    if (poll(polled.data(), polled.size(), kPollMilliseconds) <= 0) continue;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Frame frame{kLost, lines_[i].rank, 0, 0, 0};
      FailureReport failure;
      if (!read_frame(polled[i].fd, frame, failure.report))
        frame = {kLost, lines_[i].rank, 0, 0, 0};  // the line is cut
      failure.rank = frame.rank;
      failure.exchange = frame.exchange;
      if (frame.kind == kGoodbye) {
        polled[i].fd = -1;
        continue;
      }
      if (stop.stop_requested()) return;
      send_all(frame.kind, failure, lines_[i].rank);
      if (frame.kind == kLost) return calls_.lost(failure.rank);
      calls_.has_failed(failure);
    }
  }
}

}  // namespace veche
