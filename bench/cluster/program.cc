#include "bench/cluster/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

#include "veche/errors.h"

extern char** environ;

namespace veche {
namespace {

constexpr std::size_t kLastWords = 400;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

nlohmann::json run_program(std::vector<std::string> words, const std::vector<std::string>& environment,
                           int minutes) {
  std::vector<std::string> variables = environment;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw RunError("no pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t process = -1;
  const int error = posix_spawnp(&process, words.front().c_str(), &actions, nullptr, pointers(words).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(minutes);
  std::array<char, 65536> buffer{};
  pollfd polled{ends[0], POLLIN, 0};
  while (error == 0) {
    if (std::chrono::steady_clock::now() > until) kill(process, SIGTERM);
    if (poll(&polled, 1, 1000) == 0) continue;
    const ssize_t n = read(ends[0], buffer.data(), buffer.size());
    if (n <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = -1;
  if (error == 0) waitpid(process, &status, 0);
  for (std::size_t at = output.find('{'); status == 0 && at != std::string::npos;
       at = output.find('{', at + 1)) {
    if (at > 0 && output[at - 1] != '\n') continue;
    auto found = nlohmann::json::parse(output.substr(at, output.find('\n', at) - at), nullptr, false);
    if (found.is_object()) return found;
  }
  throw RunError("'" + words.front() +
                 "' failed: " + output.substr(output.size() - std::min(output.size(), kLastWords)));
}

std::vector<std::string> mpirun(int ranks) {
  std::vector<std::string> words{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  words.insert(words.end(), {"-np", std::to_string(ranks)});
  return words;
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace veche
