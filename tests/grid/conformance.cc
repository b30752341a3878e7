// The conformance suite on the members of a grid: --members processes of this host, each a member
// with its own key, linked to all others.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/conformance/over_job.h"
#include "veche/comm/grid/fixed/fixed_job.h"

namespace {

int run_member(const veche::grid::FixedMembers& mine) {
  try {
    const auto job = veche::grid::join_fixed_job(mine);
    return veche::testing::run_over(*job);
  } catch (const std::exception& error) {
    std::cerr << "rank " << mine.rank << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int count = argc > 1 ? std::atoi(argv[1]) : 2;
  veche::testing::sums_by_messages = true;
  std::vector<pid_t> children;
  const auto members = veche::grid::make_fixed_members(count);
  for (const auto& mine : members) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (const auto& other : members)
      if (other.rank != mine.rank) close(other.listening);
    _exit(run_member(mine));
  }
  for (const auto& each : members) close(each.listening);
  int failed = 0;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (status == 0) continue;
    ++failed;
    if (!WIFSIGNALED(status)) continue;
    std::cerr << "process " << ended << " was ended by signal " << WTERMSIG(status) << "\n";
    for (const pid_t child : children) kill(child, SIGTERM);  // not waited for
  }
  return failed == 0 ? 0 : 1;
}
