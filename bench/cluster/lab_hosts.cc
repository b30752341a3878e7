#include "bench/cluster/lab_hosts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <thread>

#include "bench/cluster/program.h"
#include "veche/errors.h"

extern char** environ;

namespace veche {

extern const char kNetlab[];  // the text of scripts/netlab

namespace {

bool enter_space(const std::string& name) {
  const int space = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  const bool entered = space >= 0 && setns(space, CLONE_NEWNET) == 0;
  if (space >= 0) close(space);
  return entered;
}

}  // namespace

Words netlab(int rate, const std::string& how) {
  return {"bash", "-c", kNetlab, "netlab", "--hosts", "4", "--rate", std::to_string(rate) + "mbit", how};
}

nlohmann::json run_ddp_on_hosts(int rate, const nlohmann::json& request, const BenchOptions& options,
                                int minutes) {
  Words words = netlab(rate, "each");
  words.insert(words.end(), {"sh", "-c",
                             "export RANK=$((HOST-1)) MASTER_ADDR=$NETLAB_FIRST "
                             "GLOO_SOCKET_IFNAME=$NETLAB_DEVICE; " +
                                 peer_command(options)});
  return run_program(
      words, {"REQUEST=" + request.dump(), "WORLD_SIZE=4", std::string("MASTER_PORT=") + kPeerPort}, minutes);
}

LabHosts::LabHosts(int rate) {
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0)
    throw RunError("no pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  Words words = netlab(rate, "hold");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (posix_spawnp(&process_, words.front().c_str(), &actions, nullptr, pointers.data(), environ) != 0)
    process_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  FILE* const lines = fdopen(out[0], "r");
  std::array<char, 256> line{};
  bool ready = false;
  while (!ready && std::fgets(line.data(), line.size(), lines) != nullptr) {
    std::istringstream parts(line.data());
    std::string number;
    Place place;
    parts >> number >> place.space >> place.address;
    ready = number == "ready";
    if (!ready) places_.push_back(place);
  }
  std::fclose(lines);
  if (ready) return;
  close(input_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  throw RunError("no network of four hosts can be made here: it needs root");
}

LabHosts::~LabHosts() {
  close(input_);
  waitpid(process_, nullptr, 0);
}

LabHosts::Socket LabHosts::listen_on(std::size_t host) const {
  const Place& place = places_.at(host);
  Socket made;
  // A separate thread: its network namespace ends with it.
  std::thread([&] {
    if (!enter_space(place.space)) return;
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    inet_pton(AF_INET, place.address.c_str(), &at.sin_addr);
    socklen_t length = sizeof at;
    if (bind(descriptor, reinterpret_cast<sockaddr*>(&at), length) != 0 || listen(descriptor, 16) != 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &length) != 0) {
      close(descriptor);
      return;
    }
    made = {descriptor, place.address + ":" + std::to_string(ntohs(at.sin_port))};
  }).join();
  if (made.descriptor < 0) throw RunError("nothing can listen in " + place.space);
  return made;
}

void LabHosts::enter(std::size_t host) const {
  if (!enter_space(places_.at(host).space)) throw RunError("there is no way into " + places_.at(host).space);
}

}  // namespace veche
