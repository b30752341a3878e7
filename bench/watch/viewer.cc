#include "bench/watch/viewer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "veche/errors.h"

namespace veche {
namespace {

int connected_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return socket;
  ::close(socket);
  throw RunError("bench watch: the live page cannot be reached");
}

bool ask(int socket, const std::string& path) {
  const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
  return ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size());
}

// Fetches one answer on a persistent connection; returns its size, or 0 on failure.
std::size_t fetch(int socket, const std::string& path) {
  if (!ask(socket, path)) return 0;
  std::string head;
  std::vector<char> piece(1U << 16U);
  std::size_t got = 0, end = std::string::npos, length = 0;
  while (end == std::string::npos || got < end + 4 + length) {
    const ssize_t count = ::recv(socket, piece.data(), piece.size(), 0);
    if (count <= 0) return 0;
    got += static_cast<std::size_t>(count);
    if (end != std::string::npos) continue;
    head.append(piece.data(), static_cast<std::size_t>(count));
    end = head.find("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (end != std::string::npos && at == std::string::npos) return 0;
    if (end != std::string::npos) length = std::stoul(head.substr(at + 16));
  }
  return length;
}

}  // namespace

Viewer::Viewer(int port, std::string run)
    : run_(std::move(run)), events_(connected_to(port)), thread_([this, port] { watch(port); }) {}

Viewer::~Viewer() {
  ::shutdown(events_, SHUT_RDWR);
  thread_.join();
  ::close(events_);
}

void Viewer::watch(int port) try {
  number_ = static_cast<int>(gettid());
  int answers = connected_to(port);
  // The server closes idle connections: retry once on a new one, as browsers do.
  const auto fetched = [&](const std::string& path) {
    if (fetch(answers, path) > 0) return true;
    ::close(answers);
    answers = connected_to(port);
    return fetch(answers, path) > 0;
  };
  std::array<std::int64_t, 4> seen{-1, -1, -1, -1};  // versions of series, nodes, end and now, as in the page
  const std::array<const char*, 4> paths{"series", "nodes", "series", "now"};
  if (!ask(events_, "/api/events")) return;
  std::string text;
  for (char piece[4096];;) {
    const ssize_t count = ::recv(events_, piece, sizeof piece, 0);
    if (count <= 0) break;
    text.append(piece, static_cast<std::size_t>(count));
    for (std::size_t at, end; (at = text.find("data: ")) != std::string::npos &&
                              (end = text.find("\n\n", at)) != std::string::npos;
         text.erase(0, end)) {
      const auto versions = nlohmann::json::parse(text.substr(at + 6, end - at - 6), nullptr, false);
      if (!versions.is_object() || !versions.contains(run_)) continue;
      bool whole = true;
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const auto& version = versions[run_].at(i);
        const std::int64_t now = version.is_boolean() ? version.get<bool>() : version.get<std::int64_t>();
        if (now != seen[i]) whole &= fetched(fmt::format("/api/{}?run={}", paths[i], run_));
        seen[i] = now;
      }
      if (whole) ++updates_;
    }
  }
  ::close(answers);
} catch (const std::exception&) {  // it then has no updates, which is reported
}

}  // namespace veche
