#include "veche/comm/mpi/lifeline.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
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
constexpr auto kPatience =
    std::chrono::seconds(5);  // for all to come; then those who did not are not watched
constexpr int kConnectMilliseconds = 2000;
constexpr int kGlanceMilliseconds = 100;  // between looks whether to stop
constexpr std::int32_t kFarewell = -1;    // else: the rank that was lost

struct Greeting {
  std::uint64_t word = 0;  // strangers do not know it
  std::int32_t rank = 0;
  std::int32_t unused = 0;
};

int new_socket(int flags = 0) { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0); }

bool ready(int socket, short events, int milliseconds) {
  pollfd look{socket, events, 0};
  return poll(&look, 1, milliseconds) == 1 && (look.revents & events) != 0;
}

bool read_all(int socket, void* into, std::size_t bytes) {
  return recv(socket, into, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
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

// This host's, those that others can reach first.
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

Lifeline::Lifeline(int rank, int ranks, int socket, const std::string& where, std::function<void(int)> lost)
    : lost_(std::move(lost)) {
  if (where.empty() || ranks == 1) return;
  if (rank == 0)
    accept_all(socket, ranks, where.substr(0, where.find(' ')));
  else
    connect_to_first(rank, where);
  if (!lines_.empty()) watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Lifeline::~Lifeline() {
  watcher_ = {};
  for (const Line& line : lines_) {
    send(line.socket, &kFarewell, sizeof kFarewell, MSG_NOSIGNAL);
    close(line.socket);
  }
}

void Lifeline::accept_all(int listener, int ranks, const std::string& word) {
  const auto until = Clock::now() + kPatience;
  while (static_cast<int>(lines_.size()) + 1 < ranks && Clock::now() < until) {
    if (!ready(listener, POLLIN, kGlanceMilliseconds)) continue;
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const timeval patience{1, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    Greeting greeting;
    if (read_all(socket, &greeting, sizeof greeting) && std::to_string(greeting.word) == word)
      lines_.push_back({greeting.rank, socket});
    else
      close(socket);
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
    send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL);
    lines_.push_back({0, socket});
    return;
  }
}

void Lifeline::watch(const std::stop_token& stop) {
  std::vector<pollfd> looks;
  for (const Line& line : lines_) looks.push_back({line.socket, POLLIN, 0});
  while (!stop.stop_requested()) {
    if (poll(looks.data(), looks.size(), kGlanceMilliseconds) <= 0) continue;
    for (std::size_t i = 0; i < looks.size(); ++i) {
      if (looks[i].revents == 0) continue;
      std::int32_t news = lines_[i].rank;  // the line is cut: its other end is lost
      if (recv(looks[i].fd, &news, sizeof news, MSG_DONTWAIT) == sizeof news && news == kFarewell) {
        looks[i].fd = -1;
        continue;
      }
      if (stop.stop_requested()) return;
      for (const Line& line : lines_) send(line.socket, &news, sizeof news, MSG_NOSIGNAL);
      return lost_(news);
    }
  }
}

}  // namespace veche
