#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace veche::testing {

// The result of `work` in a child process: SimGrid has one clock per process. Exceptions and
// failures of the child fail the test here.
inline std::string in_own_process(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) ADD_FAILURE() << "no pipe";
  std::fflush(nullptr);
  const bool failed_before = ::testing::Test::HasFailure();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string told;
    int code = 0;
    try {
      told = work();
    } catch (const std::exception& error) {
      told = std::string("thrown: ") + error.what();
      code = 1;
    }
    if (::testing::Test::HasFailure() && !failed_before) code = 1;
    for (std::size_t at = 0; at < told.size();) {
      const ssize_t count = ::write(ends[1], told.data() + at, told.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
  ::close(ends[1]);
  std::string told;
  char part[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], part, sizeof part)) > 0;)
    told.append(part, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << told.substr(0, 1000);
  return told;
}

}  // namespace veche::testing
