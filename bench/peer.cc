#include "bench/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr int kSilenceMilliseconds = 300'000;

}  // namespace

// A socket pair instead of pipes: writing to a dead child is then an error and not a signal.
Peer::Peer(const std::string& python, const std::string& program, std::string package)
    : package_(std::move(package)) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("cannot be connected");
  to_ = from_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::array<std::string, 3> words{python, "-c", program};
  std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
  const int error = posix_spawnp(&process_, python.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    process_ = -1;
    close(to_);
    fail("cannot be started with '" + python + "'");
  }
}

Peer::~Peer() {
  close(to_);  // end of input ends it
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

nlohmann::json Peer::ask(const nlohmann::json& request) {
  const std::string line = request.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(to_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) fail("ended");
    sent += static_cast<std::size_t>(n);
  }
  nlohmann::json answer = nlohmann::json::parse(read_line(), nullptr, false);
  if (!answer.is_object()) fail("did not answer in JSON");
  if (answer.contains("error")) fail("failed: " + answer["error"].get<std::string>());
  return answer;
}

std::string Peer::read_line() {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    pollfd ready{from_, POLLIN, 0};
    if (poll(&ready, 1, kSilenceMilliseconds) == 0) fail("does not answer");
    std::array<char, 4096> part{};
    const ssize_t n = read(from_, part.data(), part.size());
    if (n <= 0) fail("ended");
    received_.append(part.data(), static_cast<std::size_t>(n));
  }
}

void Peer::fail(const std::string& what) const {
  throw RunError("the peer to compare with " + what + ": install the Debian package " + package_);
}

}  // namespace veche
