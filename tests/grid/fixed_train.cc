// `veche train` on a fixed set of grid members, for scripts/fuzz-runs: the result of a run on the
// grid's engine, without membership changes.
//   grid_fixed_train MEMBERS [--set] KEY=VALUE...
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/errors.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/training.h"

namespace {

int train(const veche::grid::FixedMembers& mine, const std::vector<std::string>& assignments) {
  try {
    const auto job = veche::grid::fixed_job(mine);
    try {
      veche::TrainingRequest request;
      veche::run_collectively(job.get(), [&] {
        veche::Config config;
        for (const std::string& assignment : assignments) config.set(assignment);
        request.settings = veche::settings_for(config, job.get());
      });
      request.job = job.get();
      veche::run_training(request);
      return 0;
    } catch (const veche::RequestError& error) {
      if (mine.rank == 0) std::cerr << "veche: " << error.what() << std::endl;
      return 2;
    }
  } catch (const std::exception& error) {
    std::cerr << "member " << mine.rank << ": " << error.what() << std::endl;
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const int count = std::stoi(words.at(0));
  words.erase(words.begin());
  std::erase(words, "--set");
  const auto members = veche::grid::fixed_members(count);
  std::vector<pid_t> children;
  for (const auto& mine : members) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (const auto& other : members)
      if (other.rank != mine.rank) close(other.listening);
    _exit(train(mine, words));
  }
  for (const auto& each : members) close(each.listening);
  int worst = 0;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    wait(&status);
    if (WIFSIGNALED(status))
      for (const pid_t child : children) kill(child, SIGTERM);  // not waited for
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return worst;
}
